import { conditionOf } from "../api/meta/object-facts.ts";
import type { ContainerStatus, Pod, PodCondition } from "../api/meta/objects.ts";
import { findContainer } from "../api/pod/pod-containers.ts";
import { availableInMs, hasEnded, isTerminating } from "../api/pod/pod-state.ts";
import { describeCause, type Failure, recoveryOf, setsFailingToStart } from "./causes.ts";
import { containerFailure } from "./container-failure.ts";

/**
 * Whether something that is not ready yet can become ready:
 *
 * - `progressing`: nothing has failed so far
 * - `failing`: something has failed, and a retry may succeed
 * - `permanent`: it does not resolve without a change of the pod or of an object that it refers to
 */
type HealthKind = "progressing" | "failing" | "permanent";

/** Why a pod is not available. */
export interface PodHealth {
  readonly kind: HealthKind;
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message: string;
}

interface HealthOptions {
  /** Seconds that a pod has to be ready before it is available. Defaults to 0. */
  readonly minReadySeconds?: number;
  readonly now: number;
}

/** Health of a pod that is not available. The first failure in the order of startup counts; without one, the current step. */
export function podHealth(pod: Pod, { minReadySeconds = 0, now }: HealthOptions): PodHealth {
  if (isTerminating(pod)) return progressing("PodTerminating", "is being deleted");
  if (hasEnded(pod)) {
    const { phase = "", reason, message } = pod.status ?? {};
    return failing(reason ?? `Pod${phase}`, message ?? `has ended: ${phase}`);
  }
  const containers = containersOf(pod);
  const failed = containers.map((status) => ({ status, failure: containerFailure(pod, status, { now }) }));
  return (
    schedulingFailure(pod) ??
    failingToStart(pod) ??
    sandboxFailure(pod) ??
    firstOf(
      failed,
      ({ status, failure }) => failure && status.state?.waiting && describeWaiting(pod, status, failure),
    ) ??
    firstOf(failed, ({ status, failure }) => failure && describeExit(pod, status, failure)) ??
    unscheduled(pod) ??
    firstOf(containers, startingContainer) ??
    notReady(pod) ??
    notAvailable(pod, minReadySeconds, now) ??
    progressing("PodStarting", "is starting")
  );
}

/**
 * Whether a container may be pulling its image or has startup budget left. Containers that wait for an init container do
 * not count.
 */
export function hasStartingContainer(pod: Pod): boolean {
  return containersOf(pod).some(({ started, state }) =>
    state?.running ? started === false : state?.waiting?.reason === "ContainerCreating",
  );
}

function schedulingFailure(pod: Pod): PodHealth | undefined {
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "False") return undefined;
  return failing(scheduled.reason ?? "Unschedulable", scheduled.message ?? "cannot be scheduled");
}

function unscheduled({ spec }: Pod): PodHealth | undefined {
  return spec?.nodeName ? undefined : progressing("PodUnscheduled", "has no node yet");
}

/**
 * Condition FailingToStart if it is True and no stale value. A condition that a kubelet wrote before its feature gate was
 * turned off stays True although no container waits for such a reason any more.
 */
export function currentFailingToStart(pod: Pod): PodCondition | undefined {
  const condition = conditionOf(pod, "FailingToStart");
  if (condition?.status !== "True") return undefined;
  const statuses = containersOf(pod);
  const isStale =
    statuses.length > 0 &&
    statuses.every(({ state }) => state && !setsFailingToStart(state.waiting?.reason ?? ""));
  return isStale ? undefined : condition;
}

function failingToStart(pod: Pod): PodHealth | undefined {
  const condition = currentFailingToStart(pod);
  if (!condition) return undefined;
  const { reason = "FailingToStart", message = "" } = condition;
  return { kind: "permanent", reason, message };
}

/** Reason of the condition before the sandbox exists, which is not a failure. */
const sandboxPending = "PodSandboxNotReady";

function sandboxFailure(pod: Pod): PodHealth | undefined {
  const condition = conditionOf(pod, "PodReadyToStartContainers");
  if (condition?.status !== "False" || !condition.reason || condition.reason === sandboxPending)
    return undefined;
  const { reason, message = "" } = condition;
  return { kind: recoveryOf({ reason, message }) === "permanent" ? "permanent" : "failing", reason, message };
}

function describeWaiting(pod: Pod, status: ContainerStatus, failure: Failure): PodHealth {
  const { reason = failure.reason, message } = status.state?.waiting ?? {};
  const words = `container ${status.name}: ${reason}${message ? `: ${message}` : ""}`;
  return containerHealth(pod, status, { failure, reason, words });
}

/** Health of a container that has exited with an error and is not ready again. */
function describeExit(pod: Pod, status: ContainerStatus, failure: Failure): PodHealth {
  const { name, restartCount, state, lastState } = status;
  const exitCode = (state?.terminated ?? lastState?.terminated)?.exitCode;
  const { reason } = failure;
  const words = `container ${name} ended with ${exitCode} (${reason}) and was restarted ${restartCount} times`;
  return containerHealth(pod, status, { failure, reason, words });
}

function containerHealth(
  pod: Pod,
  { name }: ContainerStatus,
  { failure, reason, words }: { readonly failure: Failure; readonly reason: string; readonly words: string },
): PodHealth {
  const container = findContainer(pod.spec, name);
  const { explanation } = describeCause(failure, { pod, container });
  return {
    kind: recoveryOf(failure) === "permanent" ? "permanent" : "failing",
    reason,
    message: explanation ? `${words}. ${explanation}` : words,
  };
}

function startingContainer({ name, started, state }: ContainerStatus): PodHealth | undefined {
  if (state?.running) {
    if (started !== false) return undefined;
    return progressing("StartupProbePending", `container ${name} has not passed its startup probe yet`);
  }
  const { reason, message } = state?.waiting ?? {};
  if (!reason) return undefined;
  return progressing(reason, `container ${name}: ${reason}${message ? `: ${message}` : ""}`);
}

function notReady(pod: Pod): PodHealth | undefined {
  const ready = conditionOf(pod, "Ready");
  if (ready?.status !== "False") return undefined;
  return progressing(ready.reason ?? "PodNotReady", ready.message ?? "is not ready");
}

function notAvailable(pod: Pod, minReadySeconds: number, now: number): PodHealth | undefined {
  if (!availableInMs(pod, minReadySeconds, now)) return undefined;
  return progressing("MinReadySeconds", `has been ready for less than ${minReadySeconds} s`);
}

function containersOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

function firstOf<T>(items: readonly T[], find: (item: T) => PodHealth | undefined): PodHealth | undefined {
  for (const item of items) {
    const found = find(item);
    if (found) return found;
  }
  return undefined;
}

function progressing(reason: string, message: string): PodHealth {
  return { kind: "progressing", reason, message };
}

function failing(reason: string, message: string): PodHealth {
  return { kind: "failing", reason, message };
}
