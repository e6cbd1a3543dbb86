import type { ContainerStatus, PodSpec } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import type { ObservedContainer } from "../model/observed-pod.ts";

export type State = NonNullable<ContainerStatus["state"]>;
type Terminated = NonNullable<State["terminated"]>;

/** State of a container that was running when last observed and does not exist any more. */
export const vanished: State = {
  terminated: {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was deleted.  The container used to be Running",
  },
};

/** State of a container whose exit was not observed when the pod terminated. */
const lostAtEnd: State = {
  terminated: {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was terminated",
  },
};

/** State of a removed init container whose successors have started. */
export const presumedCompleted: State = {
  terminated: {
    exitCode: 0,
    reason: "Completed",
    message:
      "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
  },
};

export interface StateContext {
  readonly containerId: string;
  /** Previous status of the container. */
  readonly before: ContainerStatus | undefined;
  readonly waiting: State;
  readonly maxMessageBytes: number;
}

/** State of a container that exists in the runtime. */
export function stateOf(container: ObservedContainer, context: StateContext): State {
  const { containerId, before, waiting } = context;
  const { state } = container;
  switch (state.kind) {
    case "created":
      return waiting;
    case "running":
      return { running: { startedAt: formatTime(state.startedAtMs) } };
    case "exited":
      return {
        terminated: {
          containerID: containerId,
          exitCode: state.exitCode,
          finishedAt: formatTime(state.finishedAtMs),
          ...startedAt(state.startedAtMs),
          ...(state.reason && { reason: state.reason }),
          ...(state.message && { message: firstBytes(state.message, context.maxMessageBytes) }),
        },
      };
    case "unknown":
      // A container that was running is lost, one that was not is waiting: a pod that runs once must not run twice.
      if (before?.state?.running) return lostAtEnd;
      if (before?.state?.terminated && before.containerID === containerId) return before.state;
      return waiting;
  }
}

/** Runtimes report 0 for a container that failed to start. */
function startedAt(ms: number): Pick<Terminated, "startedAt"> {
  return ms > 0 ? { startedAt: formatTime(ms) } : {};
}

function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  // A character that is cut in half becomes U+FFFD and is dropped.
  return bytes.length <= limit ? text : bytes.subarray(0, limit).toString().replace(/�+$/, "");
}

interface PodContainerStatuses {
  readonly init: readonly ContainerStatus[];
  readonly own: readonly ContainerStatus[];
}

/**
 * Final statuses of a terminated pod: a container whose exit was not observed counts as failed, so that the pod does
 * not count as succeeded. Containers that were never started stay waiting.
 */
export function endStatuses(spec: PodSpec, { init, own }: PodContainerStatuses): PodContainerStatuses {
  const lastTried = init.findLastIndex(hasBeenTried);
  return {
    init: init.map((status, i) => (i <= Math.max(0, lastTried) ? ended(status) : status)),
    own: wasInitialized(spec, init, own) ? own.map(ended) : own,
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated ? status : { ...status, state: lostAtEnd, ready: false, started: false };
}

function hasBeenTried({ state, lastState }: ContainerStatus): boolean {
  return !state?.waiting || lastState?.terminated !== undefined;
}

function wasInitialized(
  spec: PodSpec,
  init: readonly ContainerStatus[],
  own: readonly ContainerStatus[],
): boolean {
  const last = init.at(-1);
  if (!last || own.some(hasBeenTried)) return true;
  const container = spec.initContainers?.find(({ name }) => name === last.name);
  if (container && isSidecar(container)) return last.started === true;
  return [last.state, last.lastState].some((state) => state?.terminated?.exitCode === 0);
}
