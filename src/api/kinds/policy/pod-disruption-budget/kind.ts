import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import type { KubeObject, Wire } from "../../../meta/objects.ts";
import { validateLabelSelector } from "../../../meta/validate-metadata.ts";
import { validateAtMost100Percent, validateIntOrPercent } from "../../apps/workload.ts";
import { ageColumn, column, integerColumn, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";

type Budget = KubeObject & Wire<k8s.V1PodDisruptionBudget>;

const strategy: Strategy<Budget> = {
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
    const at = new FieldErrors("status");
    for (const field of ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const) {
      at.nonNegative(field, status?.[field]);
    }
    return at.errors;
  },
};

export const podDisruptionBudgetKind = defineKind<Budget>({
  resource: {
    group: "policy",
    version: "v1",
    plural: "poddisruptionbudgets",
    kind: "PodDisruptionBudget",
    shortNames: ["pdb"],
  },
  subresources: ["status"],
  strategy,
  columns: [
    nameColumn,
    column("Min Available", "Pods that must stay available", ({ spec }) => `${spec?.minAvailable ?? "N/A"}`),
    column(
      "Max Unavailable",
      "Pods that may be unavailable",
      ({ spec }) => `${spec?.maxUnavailable ?? "N/A"}`,
    ),
    integerColumn(
      "Allowed Disruptions",
      "Pods that may be evicted now",
      ({ status }) => status?.disruptionsAllowed ?? 0,
    ),
    ageColumn,
  ],
});

function validate({ spec = {} }: Budget): FieldError[] {
  const at = new FieldErrors("spec");
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
