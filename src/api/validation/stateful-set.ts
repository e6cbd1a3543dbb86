import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import { dnsLabelProblems } from "../names.ts";
import type { StatefulSet } from "../objects.ts";
import { validateClaimSpec } from "./claim-spec.ts";
import { Report } from "./report.ts";
import {
  validateAtMost100Percent,
  validateIntOrPercent,
  validateNotDecremented,
  validateReplicaCounts,
  validateSelectorAndTemplate,
  valueOfIntOrPercent,
} from "./workload.ts";

type Spec = NonNullable<StatefulSet["spec"]>;
type UpdateStrategy = NonNullable<Spec["updateStrategy"]>;

interface StatefulSetRules {
  /** Which update strategies may be asked for, in the order in which messages name them. */
  readonly updateStrategies: readonly string[];
}

export function validateStatefulSet(set: StatefulSet, rules: StatefulSetRules): FieldError[] {
  const at = new Report("spec");
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

/** What cannot change is not judged again: a set made under older rules can still be scaled. */
export function validateStatefulSetUpdate(
  next: StatefulSet,
  current: StatefulSet,
  rules: StatefulSetRules,
): FieldError[] {
  const at = new Report("spec");
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

function requireSpec(at: Report): FieldError[] {
  at.required("selector");
  return at.errors;
}

function validateSpec(spec: Spec, at: Report, rules: StatefulSetRules & { isNew: boolean }): void {
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

/** Mounts may name the claims; hostname and subdomain are overwritten for every pod. */
function templateWithClaims({ template, volumeClaimTemplates = [] }: Spec): Spec["template"] {
  if (!template?.spec) return template;
  const claims = new Set(volumeClaimTemplates.map((claim) => claim.metadata?.name ?? ""));
  const own = template.spec.volumes?.filter((volume) => !claims.has(volume.name)) ?? [];
  const claimed = [...claims].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const { hostname: _, subdomain: __, ...spec } = template.spec;
  return { ...template, spec: { ...spec, volumes: [...claimed, ...own] } };
}

/** Which of them take `rollingUpdate`. */
const rolling = ["RollingUpdate", "EnforcedRollingUpdate"];

function validateUpdateStrategy(
  { type, rollingUpdate }: UpdateStrategy,
  at: Report,
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

export function validateStatefulSetStatusUpdate(next: StatefulSet, current: StatefulSet): FieldError[] {
  const at = new Report("status");
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
