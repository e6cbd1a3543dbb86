import type { ImageServiceServer, RuntimeServiceServer } from "../../cri/generated/cri.ts";
import type { Logger } from "../../lib/logger.ts";
import { createCpuRates } from "../container/cpu-rates.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import type { StreamServer } from "../stream/stream-server.ts";
import { attach } from "./attach.ts";
import { containerStats, listContainerStats } from "./container-stats.ts";
import { containerStatus } from "./container-status.ts";
import { createContainer } from "./create-container.ts";
import { exec } from "./exec.ts";
import { execSync } from "./exec-sync.ts";
import { getContainerEvents } from "./get-container-events.ts";
import { imageFsInfo } from "./image-fs-info.ts";
import { imageStatus } from "./image-status.ts";
import { listContainers } from "./list-containers.ts";
import { listImages } from "./list-images.ts";
import { listPodSandbox } from "./list-pod-sandbox.ts";
import { listPodSandboxStats, podSandboxStats } from "./pod-sandbox-stats.ts";
import { podSandboxStatus } from "./pod-sandbox-status.ts";
import { pullImage } from "./pull-image.ts";
import { pullImageWithProgress } from "./pull-image-with-progress.ts";
import { removeContainerCall } from "./remove-container.ts";
import { removeImage } from "./remove-image.ts";
import { removePodSandbox } from "./remove-pod-sandbox.ts";
import { reopenContainerLog } from "./reopen-container-log.ts";
import { runPodSandbox } from "./run-pod-sandbox.ts";
import { runtimeConfig, updateRuntimeConfig } from "./runtime-config.ts";
import { type StreamRpc, serveStream, serveUnary, type UnaryRpc } from "./serve-call.ts";
import { startContainer } from "./start-container.ts";
import { type RuntimeInfo, status } from "./status.ts";
import { stopContainerCall } from "./stop-container.ts";
import { stopPodSandbox } from "./stop-pod-sandbox.ts";
import { updateContainerResources } from "./update-container-resources.ts";
import { version } from "./version.ts";

interface ServiceDeps {
  readonly state: RuntimeState;
  readonly streams: StreamServer;
  readonly info: RuntimeInfo;
}

/** What is not in this list answers UNIMPLEMENTED: port-forward, checkpoints, metrics. */
export function runtimeService({ state, streams, info }: ServiceDeps) {
  const unary = unaryWith(state.logger);
  const stats = {
    ...state,
    cpuRates: createCpuRates({ known: (id) => state.containers.get(id) !== undefined }),
  };
  return {
    version: unary("Version", version()),
    status: unary("Status", status(state, info)),
    runPodSandbox: unary("RunPodSandbox", runPodSandbox(state)),
    stopPodSandbox: unary("StopPodSandbox", stopPodSandbox(state)),
    removePodSandbox: unary("RemovePodSandbox", removePodSandbox(state)),
    podSandboxStatus: unary("PodSandboxStatus", podSandboxStatus(state)),
    listPodSandbox: unary("ListPodSandbox", listPodSandbox(state)),
    createContainer: unary("CreateContainer", createContainer(state)),
    startContainer: unary("StartContainer", startContainer(state)),
    stopContainer: unary("StopContainer", stopContainerCall(state)),
    removeContainer: unary("RemoveContainer", removeContainerCall(state)),
    listContainers: unary("ListContainers", listContainers(state)),
    containerStatus: unary("ContainerStatus", containerStatus(state)),
    updateContainerResources: unary("UpdateContainerResources", updateContainerResources(state)),
    reopenContainerLog: unary("ReopenContainerLog", reopenContainerLog(state)),
    execSync: unary("ExecSync", execSync(state)),
    exec: unary("Exec", exec({ ...state, streams })),
    attach: unary("Attach", attach({ ...state, streams })),
    containerStats: unary("ContainerStats", containerStats(stats)),
    listContainerStats: unary("ListContainerStats", listContainerStats(stats)),
    podSandboxStats: unary("PodSandboxStats", podSandboxStats(stats)),
    listPodSandboxStats: unary("ListPodSandboxStats", listPodSandboxStats(stats)),
    getContainerEvents: serveStream(getContainerEvents(state), {
      name: "GetContainerEvents",
      logger: state.logger,
    }),
    runtimeConfig: unary("RuntimeConfig", runtimeConfig()),
    updateRuntimeConfig: unary("UpdateRuntimeConfig", updateRuntimeConfig()),
  } satisfies Partial<RuntimeServiceServer>;
}

export function imageService(state: RuntimeState): ImageServiceServer {
  const unary = unaryWith(state.logger);
  const stream = <Request, Response>(name: string, rpc: StreamRpc<Request, Response>) =>
    serveStream(rpc, { name, logger: state.logger });
  return {
    listImages: unary("ListImages", listImages(state)),
    imageStatus: unary("ImageStatus", imageStatus(state)),
    pullImage: unary("PullImage", pullImage(state)),
    pullImageWithProgress: stream("PullImageWithProgress", pullImageWithProgress(state)),
    removeImage: unary("RemoveImage", removeImage(state)),
    imageFsInfo: unary("ImageFsInfo", imageFsInfo(state)),
  };
}

function unaryWith(logger: Logger) {
  return <Request, Response>(name: string, rpc: UnaryRpc<Request, Response>) =>
    serveUnary(rpc, { name, logger });
}
