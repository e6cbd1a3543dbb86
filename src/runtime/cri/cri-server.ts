import { ImageServiceService, RuntimeServiceService } from "../../cri/generated/cri.ts";
import { listenOnSocket } from "../../cri/listen-on-socket.ts";
import { type ServiceCalls, serveCalls } from "../../cri/serve-call.ts";
import { createCpuRates, createLayerUsage } from "../containers/container-usage.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { type StreamServer, startStreamServer } from "../streaming/stream-server.ts";
import {
  containerStatus,
  createContainer,
  listContainers,
  removeContainerCall,
  reopenContainerLog,
  startContainer,
  stopContainerCall,
} from "./calls/container-calls.ts";
import { attach, exec, execSync, portForward } from "./calls/exec-calls.ts";
import {
  imageFsInfo,
  imageStatus,
  listImages,
  pullImage,
  pullImageWithProgress,
  removeImage,
} from "./calls/image-calls.ts";
import {
  getContainerEvents,
  type RuntimeInfo,
  runtimeConfig,
  status,
  updateRuntimeConfig,
  version,
} from "./calls/runtime-calls.ts";
import {
  listPodSandbox,
  podSandboxStatus,
  removePodSandbox,
  runPodSandbox,
  stopPodSandbox,
} from "./calls/sandbox-calls.ts";
import {
  containerStats,
  listContainerStats,
  listPodSandboxStats,
  podSandboxStats,
} from "./calls/stats-calls.ts";
import { toStatus } from "./calls/to-status.ts";
import { updateContainerResources } from "./calls/update-container-resources.ts";

export interface CriServer {
  close(): Promise<void>;
}

export interface CriServerOptions {
  /** `unix:///path` */
  readonly listen: string;
  readonly info: RuntimeInfo;
}

/** Serves both CRI services on their socket, and the streams of exec, attach and port-forward on a TCP port. */
export async function serveCri(state: RuntimeState, { listen, info }: CriServerOptions): Promise<CriServer> {
  const streams = await startStreamServer({ logger: state.logger });
  const options = { logger: state.logger, toStatus };
  try {
    const server = await listenOnSocket(listen, {
      runtime: serveCalls(RuntimeServiceService, runtimeCalls({ state, streams, info }), options),
      images: serveCalls(ImageServiceService, imageCalls(state), options),
    });
    return {
      async close() {
        await server.close();
        await streams.close();
      },
    };
  } catch (error) {
    await streams.close();
    throw error;
  }
}

interface ServiceDeps {
  readonly state: RuntimeState;
  readonly streams: StreamServer;
  readonly info: RuntimeInfo;
}

/** Calls of the runtime service. Others fail with UNIMPLEMENTED: checkpoints, metrics. */
function runtimeCalls({ state, streams, info }: ServiceDeps) {
  const known = (id: string) => state.containers.get(id) !== undefined;
  const stats = {
    sandboxes: state.sandboxes,
    containers: state.containers,
    driver: state.driver,
    images: state.images,
    clock: state.clock,
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
    exec: exec(state, streams),
    attach: attach(state, streams),
    portForward: portForward(state, streams),
    containerStats: containerStats(stats),
    listContainerStats: listContainerStats(stats),
    podSandboxStats: podSandboxStats(stats),
    listPodSandboxStats: listPodSandboxStats(stats),
    getContainerEvents: getContainerEvents(state),
    runtimeConfig: runtimeConfig(),
    updateRuntimeConfig: updateRuntimeConfig(),
  } satisfies ServiceCalls<RuntimeServiceService>;
}

function imageCalls(state: RuntimeState) {
  return {
    listImages: listImages(state),
    imageStatus: imageStatus(state),
    pullImage: pullImage(state),
    pullImageWithProgress: pullImageWithProgress(state),
    removeImage: removeImage(state),
    imageFsInfo: imageFsInfo(state),
  } satisfies ServiceCalls<ImageServiceService>;
}
