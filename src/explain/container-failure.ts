import { conditionOf } from "../api/meta/object-facts.ts";
import type { ContainerStatus, Pod } from "../api/meta/objects.ts";
import { type Failure, findCause } from "./causes.ts";

/** Waiting reasons of a container that has not failed. An empty reason means that the kubelet has not started it yet. */
const startingReasons = new Set(["", "ContainerCreating", "PodInitializing", "RestartingAllContainers"]);

/** Why a container that is not ready fails. Undefined if nothing has failed. */
export function containerFailure(
  pod: Pod,
  status: ContainerStatus,
  { now, attempts }: { readonly now: number; readonly attempts?: number },
): Failure | undefined {
  const { reason = "", message = "" } = status.state?.waiting ?? {};
  if (startingReasons.has(reason)) return exitFailure(status);
  // The kubelet reports the back-off and not its cause, which the last exit may name.
  const exit = reason === "CrashLoopBackOff" ? exitFailure(status) : undefined;
  if (exit && hasOwnCause(exit)) return exit;
  return { reason, message, attempts, failingMs: now - couldStartAt(pod, status) };
}

/** Whether the exit says more than that the container exited with an error. */
function hasOwnCause(exit: Failure): boolean {
  const cause = findCause(exit);
  return cause !== undefined && cause.name !== "ContainerExits";
}

/** The last exit of a container that exited with an error and is not ready again. */
function exitFailure({ ready, state, lastState }: ContainerStatus): Failure | undefined {
  const exit = state?.terminated ?? lastState?.terminated;
  if (ready || !exit || exit.exitCode === 0) return undefined;
  const { reason = "Error", message = "", startedAt, finishedAt } = exit;
  const ranMs = Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "");
  return { reason, message, ...(Number.isFinite(ranMs) && { ranMs }) };
}

/** Time at which the kubelet could first start the container: its sandbox was ready and nothing ran before it. */
function couldStartAt(pod: Pod, { lastState }: ContainerStatus): number {
  const inits = pod.status?.initContainerStatuses ?? [];
  const times = [
    pod.metadata.creationTimestamp,
    conditionOf(pod, "PodScheduled")?.lastTransitionTime,
    conditionOf(pod, "PodReadyToStartContainers")?.lastTransitionTime,
    lastState?.terminated?.finishedAt,
    ...inits.map(({ state }) => state?.terminated?.finishedAt),
  ];
  return Math.max(...times.map((time) => Date.parse(time ?? "")).filter(Number.isFinite));
}
