import { dirname } from "node:path";
import { status } from "@grpc/grpc-js";
import type { Pod } from "../../api/objects.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { ContainerState } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { runtimeContainerId } from "./container-id.ts";
import { HttpError } from "./http-error.ts";
import { chooseLogContainer } from "./log/choose-log-container.ts";
import { watchDirectory } from "./log/directory-changes.ts";
import { parseLogOptions } from "./log/log-options.ts";
import { openLog } from "./log/open-log.ts";
import { readLog } from "./log/read-log.ts";
import type { RequestPath } from "./request-path.ts";
import { hasContainer, type ServedPods } from "./served-pods.ts";

/** Where runtimes write containers' logs: nothing outside a pod's own folder is ever read for it. */
export interface LogFolders {
  readonly root: string;
  /** The name of a pod's folder in it: `NAMESPACE_NAME_UID`. */
  directoryName(pod: Pod): string;
}

export interface ContainerLogDeps {
  readonly pods: ServedPods;
  readonly cri: Pick<CriClient, "runtime">;
  readonly clock: Clock;
  readonly logs: LogFolders & { readonly realRoot: string };
}

/** `/containerLogs/NAMESPACE/POD/CONTAINER`. Resolves, or refuses, once the log is open. */
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
  const answer = await cri.runtime.containerStatus({ containerId, verbose: false }, { signal });
  return answer.status?.logPath;
}

async function isRunning(
  cri: Pick<CriClient, "runtime">,
  containerId: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const answer = await cri.runtime.containerStatus({ containerId, verbose: false }, { signal });
    return answer.status?.state === ContainerState.CONTAINER_RUNNING;
  } catch (error) {
    // Containers go on without their runtime.
    return isGrpcError(error, status.UNAVAILABLE, status.DEADLINE_EXCEEDED);
  }
}
