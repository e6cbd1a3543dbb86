import type { Lease, Node, NodeCondition } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import type { Taint } from "../../api/pod/node-matcher.ts";

/** Time without heartbeat after which a node is unhealthy. */
export interface HealthTimings {
  readonly graceMs: number;
  /** Grace period of a node whose kubelet has not posted a status yet. */
  readonly startupGraceMs: number;
}

export type Readiness = "True" | "False" | "Unknown";

export function readyConditionOf({ status }: Node): NodeCondition | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready");
}

/** Status of the Ready condition. Undefined if the kubelet has never posted one. */
export function readinessOf(node: Node): Readiness | undefined {
  const status = readyConditionOf(node)?.status;
  return status === "True" || status === "False" || status === "Unknown" ? status : undefined;
}

/** Whether the kubelet posted a heartbeat between two versions of its node. Changes by others do not count. */
export function isHeartbeat(previous: Node, node: Node): boolean {
  return readyConditionOf(previous)?.lastHeartbeatTime !== readyConditionOf(node)?.lastHeartbeatTime;
}

/** Whether renewTime changed. It may go back: the node's clock may have been corrected. */
export function isRenewal(previous: Lease | undefined, lease: Lease): boolean {
  const renewTime = lease.spec?.renewTime;
  return renewTime !== undefined && renewTime !== previous?.spec?.renewTime;
}

type Health =
  | { readonly kind: "healthy"; readonly silentInMs: number }
  /** With the conditions to write. Omitted if they are Unknown already. */
  | { readonly kind: "silent"; readonly conditions?: NodeCondition[] };

/** Conditions that only the kubelet reports. Others, such as NetworkUnavailable, are reported elsewhere. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

export function decideHealth(
  node: Node,
  {
    lastSeenAt,
    now,
    graceMs,
    startupGraceMs,
  }: HealthTimings & { readonly lastSeenAt: number; readonly now: number },
): Health {
  const silentInMs = lastSeenAt + (readyConditionOf(node) ? graceMs : startupGraceMs) - now;
  if (silentInMs >= 0) return { kind: "healthy", silentInMs };
  if (readinessOf(node) === "Unknown") return { kind: "silent" };
  return { kind: "silent", conditions: unknownConditions(node, now) };
}

function unknownConditions({ metadata, status }: Node, now: number): NodeCondition[] {
  const before = status?.conditions ?? [];
  const lastTransitionTime = formatTime(now);
  const known = before.map((condition) =>
    kubeletConditions.includes(condition.type) && condition.status !== "Unknown"
      ? {
          ...condition,
          status: "Unknown",
          reason: "NodeStatusUnknown",
          message: "Kubelet stopped posting node status.",
          lastTransitionTime,
        }
      : condition,
  );
  const missing = kubeletConditions.filter((type) => !before.some((condition) => condition.type === type));
  const never = missing.map((type) => ({
    type,
    status: "Unknown",
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
    lastHeartbeatTime: metadata.creationTimestamp,
    lastTransitionTime,
  }));
  return [...known, ...never];
}

const notReady = "node.kubernetes.io/not-ready";
const unreachable = "node.kubernetes.io/unreachable";
const unschedulable = "node.kubernetes.io/unschedulable";

/** Taint for each status of a condition. */
const conditionTaints: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReady, Unknown: unreachable },
  MemoryPressure: { True: "node.kubernetes.io/memory-pressure" },
  DiskPressure: { True: "node.kubernetes.io/disk-pressure" },
  NetworkUnavailable: { True: "node.kubernetes.io/network-unavailable" },
  PIDPressure: { True: "node.kubernetes.io/pid-pressure" },
};

const ownKeys = new Set([unschedulable, ...Object.values(conditionTaints).flatMap(Object.values<string>)]);

/**
 * Handling of pods on nodes that are not ready: `evict` adds the NoExecute taint, `hold` keeps the taint as it is,
 * `cancel` removes it.
 */
export type EvictionMode = "evict" | "hold" | "cancel";

/** Whether the node's pods have to be evicted and the node has no NoExecute taint yet. */
export function awaitsEviction(node: Node): boolean {
  const wanted = evictionKey(node);
  return wanted !== undefined && !(node.spec?.taints ?? []).some(isEviction);
}

/** Taints of a node according to its conditions, plus those that others have set. Undefined if unchanged. */
export function decideTaints(
  node: Node,
  { eviction: mode, now }: { readonly eviction: EvictionMode; readonly now: number },
): Taint[] | undefined {
  const before = node.spec?.taints ?? [];
  const wanted = [...schedulingKeys(node)].map((key) => ({ key, effect: "NoSchedule" }));
  const eviction = evictionTaint(node, mode);
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

/** Not-ready and unreachable exclude each other: one replaces the other in the same write. */
function evictionTaint(node: Node, mode: EvictionMode): Taint | undefined {
  const key = evictionKey(node);
  if (!key || mode === "cancel") return undefined;
  const evicted = node.spec?.taints?.some(isEviction) ?? false;
  return evicted || mode === "evict" ? { key, effect: "NoExecute" } : undefined;
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
