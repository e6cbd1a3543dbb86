import type { ImageServiceService, RuntimeServiceService } from "../../cri/generated/cri.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import { createCpuRates } from "../container/cpu-rates.ts";
import { createLayerUsage } from "../container/layer-usage.ts";
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
export function runtimeCalls({ state, streams, info }: ServiceDeps) {
  const known = (id: string) => state.containers.get(id) !== undefined;
  const stats = {
    ...state,
    cpuRates: createCpuRates({ known }),
    layerUsage: createLayerUsage({ clock: state.clock, measure: state.images.writableUsage, known }),
  };
  return {
    version: version(),
    status: status(state, info),
    runPodSandbox: runPodSandbox(state),
    stopPodSandbox: stopPodSandbox(state),
    removePodSandbox: removePodSandbox(state),
    podSandboxStatus: podSandboxStatus(state),
    listPodSandbox: listPodSandbox(state),
    createContainer: createContainer(state),
    startContainer: startContainer(state),
    stopContainer: stopContainerCall(state),
    removeContainer: removeContainerCall(state),
    listContainers: listContainers(state),
    containerStatus: containerStatus(state),
    updateContainerResources: updateContainerResources(state),
    reopenContainerLog: reopenContainerLog(state),
    execSync: execSync(state),
    exec: exec({ ...state, streams }),
    attach: attach({ ...state, streams }),
    containerStats: containerStats(stats),
    listContainerStats: listContainerStats(stats),
    podSandboxStats: podSandboxStats(stats),
    listPodSandboxStats: listPodSandboxStats(stats),
    getContainerEvents: getContainerEvents(state),
    runtimeConfig: runtimeConfig(),
    updateRuntimeConfig: updateRuntimeConfig(),
  } satisfies ServiceCalls<RuntimeServiceService>;
}

export function imageCalls(state: RuntimeState) {
  return {
    listImages: listImages(state),
    imageStatus: imageStatus(state),
    pullImage: pullImage(state),
    pullImageWithProgress: pullImageWithProgress(state),
    removeImage: removeImage(state),
    imageFsInfo: imageFsInfo(state),
  } satisfies ServiceCalls<ImageServiceService>;
}
