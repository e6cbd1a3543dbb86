import { humanDuration } from "../../../../lib/human-duration.ts";
import type { ContainerStatus, Pod } from "../../../meta/objects.ts";
import { isFinalPhase } from "../../../pod/pod-state.ts";
import {
  ageColumn,
  type Column,
  column,
  nameColumn,
  type RowCondition,
  type Sparse,
  wideColumn,
} from "../../columns.ts";

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  column("Ready", "Containers that are ready, of all that should be", formatReady),
  column("Status", "What the pod is doing, or what is in its way", (pod) => summaryOf(pod).reason),
  column("Restarts", "Restarts of its containers, and how long ago the last one was", formatRestarts),
  ageColumn,
  wideColumn("IP", "Address of the pod", ({ status }) => status?.podIPs?.[0]?.ip || "<none>"),
  wideColumn("Node", "Node that the pod is on", ({ spec }) => spec?.nodeName || "<none>"),
  wideColumn(
    "Nominated Node",
    "Node where room is being made for the pod",
    ({ status }) => status?.nominatedNodeName || "<none>",
  ),
  wideColumn("Readiness Gates", "Readiness gates that are met, of all", formatReadinessGates),
];

/** Marks finished pods, which clients hide. */
export function podRowConditions({ status }: Sparse<Pod>): readonly RowCondition[] | undefined {
  return completions.get(status?.phase ?? "");
}

const completions: ReadonlyMap<string, readonly RowCondition[]> = new Map([
  ["Succeeded", [completed("Succeeded", "The pod ended well.")]],
  ["Failed", [completed("Failed", "The pod failed.")]],
]);

function completed(reason: string, message: string): RowCondition {
  return { type: "Completed", status: "True", reason, message };
}

let last: { pod: Pod; summary: PodSummary } | undefined;

/** Caches the summary of the latest pod, because three columns of a row use it. */
function summaryOf(pod: Pod): PodSummary {
  if (last?.pod !== pod) last = { pod, summary: summarizePod(pod) };
  return last.summary;
}

function formatReady(pod: Pod): string {
  const { readyContainers, totalContainers } = summaryOf(pod);
  return `${readyContainers}/${totalContainers}`;
}

function formatRestarts(pod: Pod, now: number): string {
  const { count, lastAt } = summaryOf(pod).restarts;
  return count > 0 && lastAt > 0 ? `${count} (${humanDuration(now - lastAt)} ago)` : `${count}`;
}

function formatReadinessGates({ spec, status }: Pod): string {
  const gates = spec?.readinessGates ?? [];
  if (gates.length === 0) return "<none>";
  const met = gates.filter(
    ({ conditionType }) => status?.conditions?.find(({ type }) => type === conditionType)?.status === "True",
  );
  return `${met.length}/${gates.length}`;
}

/** Summary of a pod in a list: ready containers, state in one word, and restarts. */
interface PodSummary {
  readonly readyContainers: number;
  readonly totalContainers: number;
  readonly reason: string;
  readonly restarts: Restarts;
}

interface Restarts {
  readonly count: number;
  /** Milliseconds since the epoch of the last termination; 0 without one. */
  readonly lastAt: number;
}

interface Progress {
  readonly ready: number;
  readonly reason: string;
  readonly restarts: Restarts;
}

const noRestarts: Restarts = { count: 0, lastAt: 0 };

/**
 * Summarizes a pod like upstream. While an init container runs or has failed, reason and restarts are those of the init
 * containers (`Init:0/2`). Otherwise the reason is that of the first container that has one. Deletion overrides every
 * reason except that of a finished pod.
 */
export function summarizePod(pod: Pod): PodSummary {
  const sidecars = new Set<string>();
  for (const container of pod.spec?.initContainers ?? []) {
    if (container.restartPolicy === "Always") sidecars.add(container.name);
  }
  const init = followInitContainers(pod, sidecars);
  const { ready, reason, restarts } =
    init.blocked && !conditionIsTrue(pod, "Initialized") ? init : followContainers(pod, init);
  return {
    readyContainers: ready,
    totalContainers: (pod.spec?.containers.length ?? 0) + sidecars.size,
    reason: deletionReason(pod) ?? reason,
    restarts,
  };
}

/** Visits the init containers up to the first that is not complete. */
function followInitContainers(
  pod: Pod,
  sidecars: ReadonlySet<string>,
): Progress & { readonly blocked: boolean; readonly sidecarRestarts: Restarts } {
  let ready = 0;
  let restarts = noRestarts;
  let sidecarRestarts = noRestarts;
  for (const [index, container] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.has(container.name);
    restarts = addRestarts(restarts, container);
    if (isSidecar) sidecarRestarts = addRestarts(sidecarRestarts, container);
    if (container.state?.terminated?.exitCode === 0) continue;
    if (isSidecar && container.started) {
      if (container.ready) ready++;
      continue;
    }
    const progress = `${index}/${pod.spec?.initContainers?.length ?? 0}`;
    const reason = `Init:${initReason(container) ?? progress}`;
    return { ready, reason, restarts, blocked: true, sidecarRestarts };
  }
  return { ready, reason: podReason(pod), restarts, blocked: false, sidecarRestarts };
}

function followContainers(pod: Pod, init: Progress & { readonly sidecarRestarts: Restarts }): Progress {
  const containers = pod.status?.containerStatuses ?? [];
  let { ready, reason } = init;
  let restarts = init.sidecarRestarts;
  let hasRunning = false;
  let errorReason = "";
  for (let index = containers.length - 1; index >= 0; index--) {
    const container = containers[index];
    if (!container) continue;
    const { waiting, terminated, running } = container.state ?? {};
    restarts = addRestarts(restarts, container);
    if (waiting?.reason) {
      reason = waiting.reason;
    } else if (terminated) {
      reason = endReason(terminated);
      if (terminated.exitCode !== 0) errorReason = reason;
    } else if (running && container.ready) {
      hasRunning = true;
      ready++;
    }
  }
  // The pod is not completed while other containers run.
  if (reason === "Completed") {
    if (hasRunning && conditionIsTrue(pod, "Ready")) reason = "Running";
    else if (errorReason) reason = errorReason;
    else if (hasRunning) reason = "NotReady";
  }
  return { ready, reason, restarts };
}

function podReason({ status }: Pod): string {
  const gated = status?.conditions?.some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  return gated ? "SchedulingGated" : status?.reason || status?.phase || "";
}

function deletionReason({ metadata, status }: Pod): string | undefined {
  if (!metadata.deletionTimestamp) return undefined;
  // The node lifecycle controller sets this reason for pods on an unreachable node.
  if (status?.reason === "NodeLost") return "Unknown";
  const ended = isFinalPhase(status?.phase);
  return ended ? undefined : "Terminating";
}

/** Reason of an init container that failed or cannot start. Undefined while it runs or waits for an earlier one. */
function initReason({ state }: ContainerStatus): string | undefined {
  if (state?.terminated) return endReason(state.terminated);
  const reason = state?.waiting?.reason;
  return reason && reason !== "PodInitializing" ? reason : undefined;
}

function endReason(end: { reason?: string; signal?: number; exitCode: number }): string {
  return end.reason || (end.signal ? `Signal:${end.signal}` : `ExitCode:${end.exitCode}`);
}

function addRestarts(sum: Restarts, container: ContainerStatus): Restarts {
  const finishedAt = container.lastState?.terminated?.finishedAt;
  if (!container.restartCount && !finishedAt) return sum;
  const lastAt = finishedAt ? Date.parse(finishedAt) : 0;
  return { count: sum.count + container.restartCount, lastAt: Math.max(sum.lastAt, lastAt) };
}

function conditionIsTrue({ status }: Pod, type: string): boolean {
  return status?.conditions?.find((condition) => condition.type === type)?.status === "True";
}
