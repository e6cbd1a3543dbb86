import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../../api/field-error.ts";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateLabelSelector } from "../../api/validation/labels.ts";
import { Report } from "../../api/validation/report.ts";
import { validateAtMost100Percent, validateIntOrPercent } from "../../api/validation/workload.ts";
import { keepField, raiseGenerationOnSpecChange, startGeneration } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

type Budget = KubeObject & Wire<k8s.V1PodDisruptionBudget>;

export const podDisruptionBudgetStrategy: Strategy<Budget> = {
  nameRule: "pathSegment",
  allowUnconditionalUpdate: false,

  prepareForCreate(next) {
    startGeneration(next);
    next.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate,
  validateUpdate: validate,

  validateStatusUpdate({ status }) {
    const at = new Report("status");
    for (const field of ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const) {
      at.nonNegative(field, status?.[field]);
    }
    return at.errors;
  },
};

function validate({ spec = {} }: Budget): FieldError[] {
  const at = new Report("spec");
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
    at.invalid("", spec, "minAvailable and maxUnavailable cannot be both set");
  }
  for (const field of ["minAvailable", "maxUnavailable"] as const) {
    const value = spec[field];
    if (value === undefined) continue;
    validateIntOrPercent(field, value, at);
    validateAtMost100Percent(field, value, at);
  }
  validateLabelSelector(spec.selector, at.child("selector"));
  const policies = ["AlwaysAllow", "IfHealthyBudget"];
  at.oneOf("unhealthyPodEvictionPolicy", spec.unhealthyPodEvictionPolicy, policies);
  return at.errors;
}
