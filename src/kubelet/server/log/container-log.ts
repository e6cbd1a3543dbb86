import { dirname } from "node:path";
import { status } from "@grpc/grpc-js";
import type { ContainerStatus, Pod } from "../../../api/meta/objects.ts";
import type { CriClient } from "../../../cri/cri-client.ts";
import { ContainerState } from "../../../cri/generated/cri.ts";
import type { Clock } from "../../../lib/clock.ts";
import { isGrpcError } from "../../../lib/grpc-call.ts";
import { HttpError, type RequestPath } from "../../../lib/http/http-exchange.ts";
import { runtimeContainerId } from "../../model/cri-labels.ts";
import { hasContainer, type ServedPods } from "../served-pods.ts";
import { watchDirectory } from "./directory-changes.ts";
import { parseLogOptions } from "./log-renderer.ts";
import { openLog, readLog } from "./read-log.ts";

/** Directories of container logs. Only files in a pod's own directory are read for it. */
export interface LogDirectories {
  readonly root: string;
  /** Name of a pod's directory below `root`: `NAMESPACE_NAME_UID`. */
  directoryName(pod: Pod): string;
}

export interface ContainerLogDeps {
  readonly pods: ServedPods;
  readonly cri: Pick<CriClient, "runtime">;
  readonly clock: Clock;
  readonly logs: LogDirectories & { readonly realRoot: string };
}

/** Handles `/containerLogs/NAMESPACE/POD/CONTAINER`. Resolves once the log is open. */
export async function openContainerLog(
  deps: ContainerLogDeps,
  { segments, query }: RequestPath,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const { pods, cri, clock, logs } = deps;
  const [, namespace = "", name = "", container = ""] = segments;
  const options = parseLogOptions(query, clock.now());
  const pod = pods.find(namespace, name);
  if (!pod) throw new HttpError(404, `pod ${JSON.stringify(name)} does not exist`);
  if (!hasContainer(pod, container))
    throw new HttpError(
      404,
      `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`,
    );
  const chosen = chooseLogContainer(pod, { container, previous: options.previous });
  const containerId = runtimeContainerId(chosen);
  const path = await findLogPath(cri, containerId, signal).catch(() => undefined);
  if (!path) throw new HttpError(400, `unable to retrieve container logs for ${chosen}`);

  const open = () => openLog(path, { ...logs, directory: logs.directoryName(pod) });
  const source = {
    open,
    isRunning: () => isRunning(cri, containerId, signal),
    watch: () => watchDirectory(dirname(path), clock),
  };
  return readLog({ source, file: await open(), options, clock, signal });
}

async function findLogPath(
  cri: Pick<CriClient, "runtime">,
  containerId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const response = await cri.runtime.containerStatus({ containerId, verbose: false }, { signal });
  return response.status?.logPath;
}

async function isRunning(
  cri: Pick<CriClient, "runtime">,
  containerId: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const response = await cri.runtime.containerStatus({ containerId, verbose: false }, { signal });
    return response.status?.state === ContainerState.CONTAINER_RUNNING;
  } catch (error) {
    // Containers keep running while their runtime is down.
    return isGrpcError(error, status.UNAVAILABLE, status.DEADLINE_EXCEEDED);
  }
}

/** Returns the ID (`runtime://id`) of the container whose log to read. Throws upstream's error if there is none. */
export function chooseLogContainer(
  pod: Pod,
  { container, previous }: { container: string; previous: boolean },
): string {
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
    // If the current container was never created, the log of the previous one is served.
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
