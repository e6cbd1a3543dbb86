import type { ContainerStatus, Pod } from "../../api/objects.ts";
import { isFinalPhase } from "../../api/pod-phase.ts";

/** What a list of pods says about each: how many containers are ready, one word for its state, and restarts. */
export interface PodSummary {
  readonly readyContainers: number;
  readonly totalContainers: number;
  readonly reason: string;
  readonly restarts: Restarts;
}

interface Restarts {
  readonly count: number;
  /** Milliseconds since the epoch; 0 where nothing has ended yet. */
  readonly lastAt: number;
}

interface Progress {
  readonly ready: number;
  readonly reason: string;
  readonly restarts: Restarts;
}

const noRestarts: Restarts = { count: 0, lastAt: 0 };

/**
 * Init containers speak first: while one is at work or has failed, the reason is about it (`Init:0/2`) and the
 * restarts are theirs. Behind them the containers speak, the first of them last and so loudest. Deletion
 * overrules everything but an end.
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

/** Goes through the init containers up to the first that is in the way of the rest. */
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
  // One container completed is not the pod completed.
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
  // The word that node lifecycle leaves on pods of a node that does not answer.
  if (status?.reason === "NodeLost") return "Unknown";
  const ended = isFinalPhase(status?.phase);
  return ended ? undefined : "Terminating";
}

/** Undefined while the container merely waits for its turn or runs. */
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
