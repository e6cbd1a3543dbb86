import { defaultStatefulSet } from "../../api/defaults/workload.ts";
import type { StatefulSet } from "../../api/objects.ts";
import { templateWarnings } from "../../api/validation/pod-warnings.ts";
import {
  validateStatefulSet,
  validateStatefulSetStatusUpdate,
  validateStatefulSetUpdate,
} from "../../api/validation/stateful-set.ts";
import { dropGatedTemplateFields } from "./drop-gated-fields.ts";
import { keepField, raiseGenerationOnSpecChange, startGeneration } from "./prepare.ts";
import type { Strategy, StrategyContext } from "./strategy.ts";

export const statefulSetStrategy: Strategy<StatefulSet> = {
  nameRule: "dnsLabel",

  applyDefaults: defaultStatefulSet,

  prepareForCreate(next, { features }) {
    startGeneration(next);
    next.status = { replicas: 0, availableReplicas: 0 };
    dropGatedTemplateFields(next, undefined, features);
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    dropGatedTemplateFields(next, current, features);
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate(next, context) {
    return validateStatefulSet(next, { updateStrategies: allowedStrategies(context) });
  },

  validateUpdate(next, current, context) {
    return validateStatefulSetUpdate(next, current, {
      updateStrategies: allowedStrategies(context, current),
    });
  },

  validateStatusUpdate: validateStatefulSetStatusUpdate,

  warnings(set, _context, current) {
    const warnings = templateWarnings(set, current);
    if ((set.spec?.revisionHistoryLimit ?? 0) < 0) {
      const advice = "a negative value retains all historical revisions; a value >= 0 is recommended";
      warnings.push(`spec.revisionHistoryLimit: ${advice}`);
    }
    return warnings;
  },
};

/** Strategies that have to be switched on, in the order in which messages name them. */
const gated = [
  { type: "EnforcedRollingUpdate", gate: "EnforcedRollingUpdateInStatefulSet" },
  { type: "Recreate", gate: "StatefulSetRecreateStrategy" },
] as const;

/** A set that already has a strategy keeps it when the gate is switched off. */
function allowedStrategies({ features }: StrategyContext, current?: StatefulSet): string[] {
  const inUse = current?.spec?.updateStrategy?.type;
  const allowed = gated.filter(({ type, gate }) => features[gate] || type === inUse);
  return ["RollingUpdate", "OnDelete", ...allowed.map(({ type }) => type)];
}
