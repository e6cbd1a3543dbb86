import { formatTime } from "../../api/format-time.ts";
import type { Node } from "../../api/objects.ts";
import type { Taint } from "../../api/tolerates-taint.ts";
import { readinessOf } from "./decide-health.ts";

const notReady = "node.kubernetes.io/not-ready";
const unreachable = "node.kubernetes.io/unreachable";
const unschedulable = "node.kubernetes.io/unschedulable";

/** Which taint goes with which status of a condition. */
const conditionTaints: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReady, Unknown: unreachable },
  MemoryPressure: { True: "node.kubernetes.io/memory-pressure" },
  DiskPressure: { True: "node.kubernetes.io/disk-pressure" },
  NetworkUnavailable: { True: "node.kubernetes.io/network-unavailable" },
  PIDPressure: { True: "node.kubernetes.io/pid-pressure" },
};

const ownKeys = new Set([unschedulable, ...Object.values(conditionTaints).flatMap(Object.values<string>)]);

/**
 * What may be done to pods on nodes that are not ready: `evict` them, `hold` those that are not evicted yet, or
 * `spare` all of them.
 */
export type EvictionLeave = "evict" | "hold" | "spare";

/** A node that its pods have to leave, and that does not say so yet. */
export function awaitsEviction(node: Node): boolean {
  const wanted = evictionKey(node);
  return wanted !== undefined && !(node.spec?.taints ?? []).some(isEviction);
}

/** The taints that a node should have by its conditions, beside those that others gave it; undefined when it has them. */
export function decideTaints(
  node: Node,
  { leave, now }: { readonly leave: EvictionLeave; readonly now: number },
): Taint[] | undefined {
  const before = node.spec?.taints ?? [];
  const wanted = [...schedulingKeys(node)].map((key) => ({ key, effect: "NoSchedule" }));
  const eviction = evictionTaint(node, leave);
  if (eviction) wanted.push(eviction);
  const kept = before.filter((taint) => !isOwn(taint) || wanted.some((want) => isSame(want, taint)));
  const added = wanted.filter((want) => !before.some((taint) => isSame(want, taint)));
  if (kept.length === before.length && added.length === 0) return undefined;
  return [...kept, ...added.map((taint) => ({ ...taint, timeAdded: formatTime(now) }))];
}

function schedulingKeys({ spec, status }: Node): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { type, status: is } of status?.conditions ?? []) {
    const key = conditionTaints[type]?.[is];
    if (key) keys.add(key);
  }
  if (spec?.unschedulable) keys.add(unschedulable);
  return keys;
}

/** Unreachable and not ready exclude each other: one takes the place of the other at once. */
function evictionTaint(node: Node, leave: EvictionLeave): Taint | undefined {
  const key = evictionKey(node);
  if (!key || leave === "spare") return undefined;
  const evicted = node.spec?.taints?.some(isEviction) ?? false;
  return evicted || leave === "evict" ? { key, effect: "NoExecute" } : undefined;
}

function evictionKey(node: Node): string | undefined {
  const readiness = readinessOf(node);
  if (readiness === "False") return notReady;
  return readiness === "Unknown" ? unreachable : undefined;
}

function isEviction({ key, effect }: Taint): boolean {
  return effect === "NoExecute" && (key === notReady || key === unreachable);
}

function isOwn(taint: Taint): boolean {
  return isEviction(taint) || (taint.effect === "NoSchedule" && ownKeys.has(taint.key));
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}
