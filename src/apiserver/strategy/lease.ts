import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../../api/field-error.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { Report } from "../../api/validation/report.ts";
import type { Strategy } from "./strategy.ts";

type Lease = KubeObject & Wire<k8s.V1Lease>;

export const leaseStrategy: Strategy<Lease> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,

  // Leases that are handed over by agreement are not switched on in 1.36.
  prepareForCreate: dropHandover,
  prepareForUpdate: dropHandover,

  validate,
  validateUpdate: validate,
};

function validate({ spec = {} }: Lease): FieldError[] {
  const at = new Report("spec");
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
