import type { ContainerStatus, Pod } from "../../../api/objects.ts";
import { HttpError } from "../http-error.ts";

interface LogWish {
  readonly container: string;
  /** The one before the current one. */
  readonly previous: boolean;
}

/** The id (`runtime://id`) of the container whose log is meant. Throws upstream's sentence where there is none. */
export function chooseLogContainer(pod: Pod, { container, previous }: LogWish): string {
  const about = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name)}`;
  const status = findContainerStatus(pod, container);
  if (!status) throw new HttpError(400, `${about} is not available`);
  const { running, terminated, waiting } = status.state ?? {};
  const last = status.lastState?.terminated;
  if (previous) {
    if (!last?.containerID) throw new HttpError(400, `previous terminated ${about} not found`);
    return last.containerID;
  }
  if (running) return status.containerID ?? "";
  if (terminated || last) {
    // A container that was never made, after one that was: that one's log is all there is.
    const id = terminated?.containerID || last?.containerID;
    if (!id) throw new HttpError(400, `${about} is terminated`);
    return id;
  }
  if (waiting) throw new HttpError(400, `${about} is waiting to start: ${explain(waiting.reason)}`);
  throw new HttpError(400, `${about} is waiting to start - no logs yet`);
}

export function findContainerStatus(pod: Pod, container: string): ContainerStatus | undefined {
  const {
    containerStatuses = [],
    initContainerStatuses = [],
    ephemeralContainerStatuses = [],
  } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    ({ name }) => name === container,
  );
}

function explain(reason = ""): string {
  if (reason === "ErrImagePull") return "image can't be pulled";
  if (reason === "ImagePullBackOff") return "trying and failing to pull image";
  return reason;
}
