import type { PersistentVolumeClaim, Pod, PodSpec, ResourceQuota } from "../meta/objects.ts";
import { qosClassOf } from "../pod/pod-resources.ts";

type QuotaSpec = NonNullable<ResourceQuota["spec"]>;
export type ScopeRequirement = NonNullable<
  NonNullable<QuotaSpec["scopeSelector"]>["matchExpressions"]
>[number];

export const quotaScopes = [
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
  "VolumeAttributesClass",
] as const;

/** Requirements that objects must meet to count for the quota. */
export function scopeRequirementsOf({ spec }: Pick<ResourceQuota, "spec">): readonly ScopeRequirement[] {
  const scopes = (spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" }));
  return [...scopes, ...(spec?.scopeSelector?.matchExpressions ?? [])];
}

export function podMatchesScope({ spec }: Pod, requirement: ScopeRequirement): boolean {
  switch (requirement.scopeName) {
    case "Terminating":
      return isTerminating(spec);
    case "NotTerminating":
      return !isTerminating(spec);
    case "BestEffort":
      return qosClassOf(spec ?? { containers: [] }) === "BestEffort";
    case "NotBestEffort":
      return qosClassOf(spec ?? { containers: [] }) !== "BestEffort";
    case "PriorityClass":
      return matchesName(spec?.priorityClassName, requirement);
    case "CrossNamespacePodAffinity":
      return hasCrossNamespaceAffinity(spec);
    default:
      return false;
  }
}

/** Whether the pod has a deadline after which it is terminated. */
export function isTerminating(spec: PodSpec | undefined): boolean {
  return spec?.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds >= 0;
}

export function claimMatchesScope(claim: PersistentVolumeClaim, requirement: ScopeRequirement): boolean {
  if (requirement.scopeName !== "VolumeAttributesClass") return false;
  const names = attributesClassesOf(claim);
  if (names.length === 0) return matchesName(undefined, requirement);
  return names.some((name) => matchesName(name, requirement));
}

/** VolumeAttributesClasses that the claim requests, has, or is being changed to. */
export function attributesClassesOf({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.flatMap((name) => name || []))].sort();
}

function matchesName(name: string | undefined, { operator, values = [] }: ScopeRequirement): boolean {
  switch (operator) {
    case "In":
      return Boolean(name) && values.includes(name ?? "");
    case "NotIn":
      return !name || !values.includes(name);
    case "Exists":
      return Boolean(name);
    case "DoesNotExist":
      return !name;
    default:
      return false;
  }
}

function hasCrossNamespaceAffinity(spec: PodSpec | undefined): boolean {
  const kinds = [spec?.affinity?.podAffinity, spec?.affinity?.podAntiAffinity];
  const terms = kinds.flatMap((kind) => [
    ...(kind?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(kind?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((each) => each.podAffinityTerm),
  ]);
  return terms.some((term) => Boolean(term.namespaces?.length) || term.namespaceSelector !== undefined);
}
