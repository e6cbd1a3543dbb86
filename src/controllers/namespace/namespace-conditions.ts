import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../../api/objects.ts";

export type NamespaceCondition = Wire<k8s.V1NamespaceCondition>;

/** What one attempt to empty a namespace has found. */
export interface Emptying {
  readonly discoveryError?: string;
  readonly deletionErrors: readonly string[];
  /** How many objects are left of each kind: `pods.`, `deployments.apps`. */
  readonly remaining: ReadonlyMap<string, number>;
  /** How many of them each finalizer holds. */
  readonly finalizers: ReadonlyMap<string, number>;
}

const good = {
  NamespaceDeletionDiscoveryFailure: ["ResourcesDiscovered", "All resources successfully discovered"],
  NamespaceDeletionGroupVersionParsingFailure: [
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
  ],
  NamespaceDeletionContentFailure: [
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  NamespaceContentRemaining: ["ContentRemoved", "All content successfully removed"],
  NamespaceFinalizersRemaining: ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
} as const;

type ConditionType = keyof typeof good;

/** The conditions of a namespace after an attempt to empty it; the same ones when nothing is new. */
export function namespaceConditions(
  current: readonly NamespaceCondition[],
  emptying: Emptying,
  now: string,
): readonly NamespaceCondition[] {
  const bad = badConditions(emptying);
  const next = [...current];
  for (const type of Object.keys(good) as ConditionType[]) {
    const [reason, message] = bad[type] ?? good[type];
    const status = bad[type] ? "True" : "False";
    const at = next.findIndex((condition) => condition.type === type);
    const before = next[at];
    if (before?.status === status && before.reason === reason && before.message === message) continue;
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    const condition = { type, status, lastTransitionTime, reason, message };
    if (before) next[at] = condition;
    else next.push(condition);
  }
  return next.length === current.length && next.every((condition, i) => condition === current[i])
    ? current
    : next;
}

function badConditions(emptying: Emptying): Partial<Record<ConditionType, readonly [string, string]>> {
  const { discoveryError, deletionErrors, remaining, finalizers } = emptying;
  const bad: Partial<Record<ConditionType, readonly [string, string]>> = {};
  if (discoveryError !== undefined) {
    bad.NamespaceDeletionDiscoveryFailure = ["DiscoveryFailed", discoveryError];
  }
  if (deletionErrors.length > 0) {
    const count = `Failed to delete all resource types, ${deletionErrors.length} remaining`;
    bad.NamespaceDeletionContentFailure = [
      "ContentDeletionFailed",
      `${count}: ${[...deletionErrors].sort().join(", ")}`,
    ];
  }
  if (remaining.size > 0) {
    const each = [...remaining].map(([kind, count]) => `${kind} has ${count} resource instances`).sort();
    bad.NamespaceContentRemaining = [
      "SomeResourcesRemain",
      `Some resources are remaining: ${each.join(", ")}`,
    ];
  }
  if (finalizers.size > 0) {
    const each = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
    const message = `Some content in the namespace has finalizers remaining: ${each.join(", ")}`;
    bad.NamespaceFinalizersRemaining = ["SomeFinalizersRemain", message];
  }
  return bad;
}
