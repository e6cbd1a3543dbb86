// Clauses: 3541-1

import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { dnsLabelProblems } from "../../../meta/names.ts";
import type { StatefulSet } from "../../../meta/objects.ts";
import { validateClaimSpec } from "../../../pod/validation/claim-spec.ts";
import { templateWarnings } from "../../../pod/validation/pod-warnings.ts";
import { ageColumn, nameColumn } from "../../columns.ts";
import { dropGatedTemplateFields } from "../../core/pod/drop-gated-fields.ts";
import { defineKind } from "../../kind-definition.ts";
import {
  keepField,
  raiseGenerationOnSpecChange,
  type Strategy,
  type StrategyContext,
  startGeneration,
} from "../../strategy.ts";
import {
  containersColumn,
  defaultStatefulSet,
  imagesColumn,
  readyColumn,
  validateAtMost100Percent,
  validateIntOrPercent,
  validateNotDecremented,
  validateReplicaCounts,
  validateSelectorAndTemplate,
  valueOfIntOrPercent,
} from "../workload.ts";

const strategy: Strategy<StatefulSet> = {
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

export const statefulSetKind = defineKind<StatefulSet>({
  resource: {
    group: "apps",
    version: "v1",
    plural: "statefulsets",
    kind: "StatefulSet",
    shortNames: ["sts"],
    categories: ["all"],
  },
  subresources: ["status", "scale"],
  strategy,
  columns: [nameColumn, readyColumn, ageColumn, containersColumn, imagesColumn],
});

/** Update strategies behind a feature gate, in the order in which messages list them. */
const gated = [
  { type: "EnforcedRollingUpdate", gate: "EnforcedRollingUpdateInStatefulSet" },
  { type: "Recreate", gate: "StatefulSetRecreateStrategy" },
] as const;

/** A set that uses a strategy keeps it when the gate is disabled. */
function allowedStrategies({ features }: StrategyContext, current?: StatefulSet): string[] {
  const inUse = current?.spec?.updateStrategy?.type;
  const allowed = gated.filter(({ type, gate }) => features[gate] || type === inUse);
  return ["RollingUpdate", "OnDelete", ...allowed.map(({ type }) => type)];
}

type Spec = NonNullable<StatefulSet["spec"]>;
type UpdateStrategy = NonNullable<Spec["updateStrategy"]>;

interface StatefulSetRules {
  /** Allowed update strategies, in the order in which messages list them. */
  readonly updateStrategies: readonly string[];
}

function validateStatefulSet(set: StatefulSet, rules: StatefulSetRules): FieldError[] {
  const at = new FieldErrors("spec");
  const { spec } = set;
  if (!spec) return requireSpec(at);
  validateSpec(spec, at, { ...rules, isNew: true });
  return at.errors;
}

const mutable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const satisfies readonly (keyof Spec)[];

/**
 * Validates an update. Immutable fields are not validated again, so that a set created under older rules can be scaled.
 */
function validateStatefulSetUpdate(
  next: StatefulSet,
  current: StatefulSet,
  rules: StatefulSetRules,
): FieldError[] {
  const at = new FieldErrors("spec");
  if (!next.spec || !current.spec) return requireSpec(at);
  validateSpec(next.spec, at, { ...rules, isNew: false });
  const frozen = { ...next.spec };
  for (const field of mutable) Object.assign(frozen, { [field]: current.spec[field] });
  if (!isEqual(frozen, current.spec)) {
    const names = mutable.map((field) => `'${field}'`);
    const list = `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
    at.forbidden("", `updates to statefulset spec for fields other than ${list} are forbidden`);
  }
  return at.errors;
}

function requireSpec(at: FieldErrors): FieldError[] {
  at.required("selector");
  return at.errors;
}

function validateSpec(spec: Spec, at: FieldErrors, rules: StatefulSetRules & { isNew: boolean }): void {
  const { podManagementPolicy: policy } = spec;
  if (policy !== "OrderedReady" && policy !== "Parallel") {
    at.invalid("podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'");
  }
  validateUpdateStrategy(spec.updateStrategy ?? {}, at.child("updateStrategy"), rules);
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  for (const field of ["whenDeleted", "whenScaled"] as const) {
    at.oneOf(`persistentVolumeClaimRetentionPolicy.${field}`, retention?.[field], ["Retain", "Delete"]);
  }
  const { serviceName, volumeClaimTemplates } = rules.isNew ? spec : {};
  at.each("volumeClaimTemplates", volumeClaimTemplates, (claim, place) => {
    validateClaimSpec(claim.spec ?? {}, place.child("spec"));
  });
  at.nonNegative("replicas", spec.replicas);
  at.nonNegative("minReadySeconds", spec.minReadySeconds);
  at.nonNegative("ordinals.start", spec.ordinals?.start);
  if (serviceName) at.problems("serviceName", serviceName, dnsLabelProblems(serviceName));
  const names = { emptySelector: "statefulset", deadline: "StatefulSet", unreadable: "" };
  validateSelectorAndTemplate({ ...spec, template: templateWithClaims(spec) }, at, names);
}

/**
 * Template with the claims as volumes. Hostname and subdomain are omitted, because they are overwritten for every pod.
 */
function templateWithClaims({ template, volumeClaimTemplates = [] }: Spec): Spec["template"] {
  if (!template?.spec) return template;
  const claims = new Set(volumeClaimTemplates.map((claim) => claim.metadata?.name ?? ""));
  const own = template.spec.volumes?.filter((volume) => !claims.has(volume.name)) ?? [];
  const claimed = [...claims].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const { hostname: _, subdomain: __, ...spec } = template.spec;
  return { ...template, spec: { ...spec, volumes: [...claimed, ...own] } };
}

/** Strategies that accept `rollingUpdate`. */
const rolling = ["RollingUpdate", "EnforcedRollingUpdate"];

function validateUpdateStrategy(
  { type, rollingUpdate }: UpdateStrategy,
  at: FieldErrors,
  { updateStrategies }: StatefulSetRules,
): void {
  if (!type) {
    at.required("");
    return;
  }
  if (!updateStrategies.includes(type)) {
    const shown = { Type: type, RollingUpdate: rollingUpdate ?? null };
    at.invalid("", shown, `must be ${listOf(updateStrategies)}`);
    return;
  }
  if (!rollingUpdate) return;
  if (!rolling.includes(type)) {
    const allowed = updateStrategies.filter((strategy) => rolling.includes(strategy));
    at.invalid("rollingUpdate", rollingUpdate, `only allowed for updateStrategy ${listOf(allowed)}`);
    return;
  }
  const { partition, maxUnavailable } = rollingUpdate;
  at.nonNegative("rollingUpdate.partition", partition);
  if (maxUnavailable === undefined) return;
  const field = "rollingUpdate.maxUnavailable";
  validateIntOrPercent(field, maxUnavailable, at);
  if (valueOfIntOrPercent(maxUnavailable) === 0) at.invalid(field, maxUnavailable, "cannot be 0");
  validateAtMost100Percent(field, maxUnavailable, at);
}

/** `'A'`, `'A' or 'B'`, `'A', 'B', or 'C'`. */
function listOf(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  if (quoted.length < 3) return quoted.join(" or ");
  return `${quoted.slice(0, -1).join(", ")}, or ${quoted.at(-1)}`;
}

function validateStatefulSetStatusUpdate(next: StatefulSet, current: StatefulSet): FieldError[] {
  const at = new FieldErrors("status");
  const { replicas, readyReplicas, currentReplicas, updatedReplicas, availableReplicas, ...rest } =
    next.status ?? { replicas: 0 };
  validateReplicaCounts(
    { replicas, readyReplicas, currentReplicas, updatedReplicas, availableReplicas },
    at,
    { readyName: "status.readyReplicas" },
  );
  at.nonNegative("observedGeneration", rest.observedGeneration);
  at.nonNegative("collisionCount", rest.collisionCount);
  const counts = { next: rest.collisionCount, current: current.status?.collisionCount };
  validateNotDecremented("collisionCount", counts, at);
  return at.errors;
}
