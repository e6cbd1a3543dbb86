import { formatTime } from "../../api/format-time.ts";
import type { ContainerStatus } from "../../api/objects.ts";
import type { ObservedContainer } from "../observed-pod.ts";

export type State = NonNullable<ContainerStatus["state"]>;
type Terminated = NonNullable<State["terminated"]>;

/** Of a container that ran when it was last seen and is gone: how it ended nobody knows, but not well. */
export const vanished: State = {
  terminated: {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was deleted.  The container used to be Running",
  },
};

/** The same when the pod ends. */
export const lostAtEnd: State = {
  terminated: {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was terminated",
  },
};

/** An init container that has been cleared away, though containers that come after it have started. */
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
  /** The container's status before. */
  readonly before: ContainerStatus | undefined;
  readonly waiting: State;
  readonly maxMessageBytes: number;
}

/** The state of a container that the runtime knows. */
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
      // "Never ran" and "ran and was lost" differ: the second must not make a pod that runs once run twice.
      if (before?.state?.running) return lostAtEnd;
      if (before?.state?.terminated && before.containerID === containerId) return before.state;
      return waiting;
  }
}

/** Runtimes answer 0 for a container that could not be started. */
function startedAt(ms: number): Pick<Terminated, "startedAt"> {
  return ms > 0 ? { startedAt: formatTime(ms) } : {};
}

function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  // A character that the cut goes through becomes U+FFFD, which is dropped.
  return bytes.length <= limit ? text : bytes.subarray(0, limit).toString().replace(/�+$/, "");
}
