import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../../api/field-error.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { Report } from "../../api/validation/report.ts";
import type { Strategy } from "./strategy.ts";

type Lease = KubeObject & Wire<k8s.V1Lease>;

export const leaseStrategy: Strategy<Lease> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
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
  if (spec.preferredHolder && !spec.strategy) {
    at.forbidden("preferredHolder", "may only be specified if `strategy` is defined");
  }
  return at.errors;
}
