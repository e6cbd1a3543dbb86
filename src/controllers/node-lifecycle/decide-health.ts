import { formatTime } from "../../api/format-time.ts";
import type { Lease, Node, NodeCondition } from "../../api/objects.ts";

/** For how long a node may be silent. */
export interface HealthTimings {
  readonly graceMs: number;
  /** For one whose kubelet has said nothing yet. */
  readonly startupGraceMs: number;
}

export type Readiness = "True" | "False" | "Unknown";

export function readyConditionOf({ status }: Node): NodeCondition | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready");
}

/** Undefined for a node that was never heard of. */
export function readinessOf(node: Node): Readiness | undefined {
  const status = readyConditionOf(node)?.status;
  return status === "True" || status === "False" || status === "Unknown" ? status : undefined;
}

/** Whether the kubelet has given a sign of life between two versions of its node. What others change is none. */
export function isHeartbeat(previous: Node, node: Node): boolean {
  return readyConditionOf(previous)?.lastHeartbeatTime !== readyConditionOf(node)?.lastHeartbeatTime;
}

/** Any other time is one: after the node's clock was set back, its renewals have earlier times than before. */
export function isRenewal(previous: Lease | undefined, lease: Lease): boolean {
  const renewTime = lease.spec?.renewTime;
  return renewTime !== undefined && renewTime !== previous?.spec?.renewTime;
}

type Health =
  | { readonly kind: "heard"; readonly silentInMs: number }
  /** With the conditions that nobody knows any more; left out when they say so already. */
  | { readonly kind: "silent"; readonly conditions?: NodeCondition[] };

/** What the kubelet alone can know. The network is watched by others. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

export function decideHealth(
  node: Node,
  {
    heardAt,
    now,
    graceMs,
    startupGraceMs,
  }: HealthTimings & { readonly heardAt: number; readonly now: number },
): Health {
  const silentInMs = heardAt + (readyConditionOf(node) ? graceMs : startupGraceMs) - now;
  if (silentInMs >= 0) return { kind: "heard", silentInMs };
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
