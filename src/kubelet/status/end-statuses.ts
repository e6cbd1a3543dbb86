import type { ContainerStatus, PodSpec } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";
import { lostAtEnd } from "./container-state.ts";

interface PodContainerStatuses {
  readonly init: readonly ContainerStatus[];
  readonly own: readonly ContainerStatus[];
}

/**
 * The pod is over: a container of which nothing is known counts as failed, so that nobody takes the pod for one that
 * succeeded. Containers whose turn never came stay waiting.
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
