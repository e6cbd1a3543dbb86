import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import type { Lease } from "../../../meta/objects.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

const strategy: Strategy<Lease> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,

  // Coordinated leader election is disabled by default in 1.36.
  prepareForCreate: dropHandover,
  prepareForUpdate: dropHandover,

  validate,
  validateUpdate: validate,
};

export const leaseKind = defineKind<Lease>({
  resource: { group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease" },
  strategy,
  columns: [
    nameColumn,
    column("Holder", "Who holds the lease", ({ spec }) => spec?.holderIdentity ?? ""),
    ageColumn,
  ],
});

function validate({ spec = {} }: Lease): FieldError[] {
  const at = new FieldErrors("spec");
  const { leaseDurationSeconds } = spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    at.invalid("leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0");
  }
  at.nonNegative("leaseTransitions", spec.leaseTransitions);
  return at.errors;
}

function dropHandover({ spec }: Lease): void {
  delete spec?.strategy;
  delete spec?.preferredHolder;
}
