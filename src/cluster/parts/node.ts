import { mkdir } from "node:fs/promises";
import { type CriClient, connectCri } from "../../cri/cri-client.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { PodLinkFacts } from "../../runtime/networks/network.ts";
import type { RuntimeConfig } from "../../runtime/runtime-config.ts";
import type { SimulatedRuntime } from "../../simulated/start-simulated-runtime.ts";
import { type RuntimeChoice, runtimeDirOf } from "../data-dir/data-dir-files.ts";
import { closeInTurn } from "../host/close-in-turn.ts";
import { removePods } from "../host/end-containers.ts";
import { runtimeSocket } from "../host/runtime-socket.ts";
import type { ControlPlane } from "./control-plane.ts";
import { type NodeKubelet, type NodeKubeletOptions, startNodeKubelet } from "./node-kubelet.ts";

export interface NodeOptions extends Omit<NodeKubeletOptions, "controlPlane" | "cri" | "simulated"> {
  readonly runtime: RuntimeChoice;
  /** Control plane; the runtime starts without waiting for it. */
  readonly controlPlane: Promise<ControlPlane>;
  /** Whether containers are stopped with the node. */
  readonly ephemeral?: boolean;
  /** Configuration of Kindling's runtime: registries, handlers. */
  readonly runtimeConfig?: RuntimeConfig;
}

export interface RunningNode {
  readonly name: string;
  /** Description of how containers run. */
  readonly runtime: string;
  /** Short form: `oci (runc)`, `host`, `simulated`, or a socket. */
  readonly runtimeName: string;
  /** Creates the pods' network and returns where it meets this machine. Undefined if the runtime does not know. */
  preparePodNetwork(): Promise<PodLinkFacts | undefined>;
  /** Controls of the simulated runtime. Undefined for other runtimes. */
  readonly simulated: SimulatedRuntime | undefined;
  /** Simulates an outage of the node: stops the kubelet while pods keep running. */
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
  /** Stops the node. Containers keep running unless they are ephemeral. */
  close(): Promise<void>;
}

interface ConnectedRuntime {
  readonly cri: CriClient;
  readonly description: string;
  readonly name: string;
  readonly simulated?: SimulatedRuntime;
  readonly preparePodNetwork: RunningNode["preparePodNetwork"];
  close(): Promise<void>;
}

/** Starts a runtime and a kubelet. Resolves when the node is registered. */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { name, dataDir, features, kubeletConfig, clusterDns, clusterDomain, clock, logger, signal } =
    options;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const connecting = connectRuntime(options);
  // Prevents an unhandled rejection if the control plane fails first.
  connecting.catch(() => {});
  const controlPlane = await options.controlPlane.catch(async (error) => {
    await connecting.then((connected) => connected.close());
    throw error;
  });
  const runtime = await connecting;
  const { cri, simulated } = runtime;
  const adoptSandboxes = options.runtime.kind !== "endpoint" || (options.adoptSandboxes ?? false);
  const startKubelet = () =>
    startNodeKubelet({
      name,
      dataDir,
      controlPlane,
      cri,
      simulated,
      features,
      kubeletConfig,
      clusterDns,
      clusterDomain,
      protectPod: options.protectPod,
      adoptSandboxes,
      clock,
      logger,
      signal,
    });
  let kubelet: NodeKubelet | undefined;
  const stopKubelet = async () => {
    await kubelet?.stop();
    kubelet = undefined;
  };
  const endPods = async () =>
    options.ephemeral && removePods(cri, { runtime: options.runtime.kind, nodeDir: dataDir });
  // Pods are removed after the kubelet stopped, which would recreate them.
  const close = () => closeInTurn(stopKubelet, endPods, runtime.close);
  try {
    kubelet = await startKubelet();
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
  return {
    name,
    runtime: runtime.description,
    runtimeName: runtime.name,
    preparePodNetwork: runtime.preparePodNetwork,
    simulated,
    stopKubelet,
    async startKubelet() {
      kubelet ??= await startKubelet();
    },
    close,
  };
}

/** Timeout for a runtime that is still starting. */
const endpointTimeoutMs = 10_000;

/** Starts the chosen runtime. Runtimes are loaded on demand to keep the start fast. */
async function connectRuntime(options: NodeOptions): Promise<ConnectedRuntime> {
  const { runtime, dataDir, logger, signal } = options;
  switch (runtime.kind) {
    case "own": {
      const { startRuntime } = await import("../../runtime/start-runtime.ts");
      const listen = `unix://${runtimeSocket(dataDir)}`;
      const { driver } = runtime;
      const component = logger.component("runtime");
      const started = await startRuntime({
        dataDir: runtimeDirOf(dataDir),
        listen,
        driver,
        config: options.runtimeConfig,
        logger: component,
        signal,
      });
      const cri = connectCri(listen);
      const { name, program, reason } = started.driver;
      return {
        cri,
        name: program ? `${name} (${program})` : name,
        description: `${reason}; ${started.network.reason}`,
        preparePodNetwork: started.network.prepare,
        async close() {
          cri.close();
          await started.close();
        },
      };
    }
    case "simulated": {
      const { startSimulatedRuntime } = await import("../../simulated/start-simulated-runtime.ts");
      const { handlers } = runtime;
      const simulated = await startSimulatedRuntime({
        logger: logger.component("simulated"),
        clock: options.clock,
        handlers,
      });
      return {
        cri: simulated.client,
        simulated,
        name: "simulated",
        description: "simulated: no containers behind it",
        preparePodNetwork: async () => undefined,
        close: simulated.close,
      };
    }
    case "endpoint": {
      const cri = connectCri(runtime.endpoint);
      // A kubelet would wait for its runtime forever; `up` reports the problem instead.
      const asked = { timeoutMs: endpointTimeoutMs, signal };
      await cri.runtime.version({ version: "" }, asked).catch((error) => {
        cri.close();
        signal?.throwIfAborted();
        throw new Error(
          `no runtime answers at ${runtime.endpoint}: start it, or choose another with --runtime (${messageOf(error)})`,
          { cause: error },
        );
      });
      const { endpoint } = runtime;
      return {
        cri,
        name: endpoint,
        description: endpoint,
        preparePodNetwork: async () => undefined,
        close: async () => cri.close(),
      };
    }
  }
}
