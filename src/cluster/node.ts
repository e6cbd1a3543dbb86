import { mkdir } from "node:fs/promises";
import { type CriClient, connectCri } from "../cri/cri-client.ts";
import { messageOf } from "../lib/message-of.ts";
import type { RuntimeConfig } from "../runtime/runtime-config.ts";
import type { SimulatedRuntime } from "../simulated/start-simulated-runtime.ts";
import { closeInTurn } from "./close-in-turn.ts";
import type { ControlPlane } from "./control-plane.ts";
import { runtimeDirOf } from "./data-dir/data-dir-paths.ts";
import { type NodeKubelet, type NodeKubeletOptions, startNodeKubelet } from "./node-kubelet.ts";
import { removePods } from "./remove-pods.ts";
import { runtimeSocket } from "./runtime-socket.ts";

/** What runs the containers of a node: a runtime of ours, no containers at all, or somebody else's socket. */
export type RuntimeChoice =
  | { readonly kind: "own"; readonly driver: "auto" | "oci" | "host" }
  /** With handlers that RuntimeClasses can name. */
  | { readonly kind: "simulated"; readonly handlers?: readonly string[] }
  | { readonly kind: "endpoint"; readonly endpoint: string };

export interface NodeOptions extends NodeKubeletOptions {
  readonly runtime: RuntimeChoice;
  /** May still be starting: the runtime need not wait for it. */
  readonly controlPlane: Promise<ControlPlane>;
  /** Its containers end with the node, instead of outliving it. */
  readonly ephemeral?: boolean;
  /** Of a runtime of ours: registries, handlers. */
  readonly runtimeConfig?: RuntimeConfig;
}

export interface RunningNode {
  readonly name: string;
  /** How containers run here, in words. */
  readonly runtime: string;
  /** The same in one: `oci (runc)`, `host`, `simulated`, or a socket. */
  readonly runtimeName: string;
  /** Where containers are simulated. */
  readonly simulated: SimulatedRuntime | undefined;
  /** An outage of the node: nobody looks after its pods, which go on. */
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
  /** Ends what runs the node; containers go on, unless they are ephemeral. */
  close(): Promise<void>;
}

interface ConnectedRuntime {
  readonly cri: CriClient;
  readonly description: string;
  readonly name: string;
  readonly simulated?: SimulatedRuntime;
  close(): Promise<void>;
}

/** A runtime and a kubelet on it, registered with the control plane when this resolves. */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { name, dataDir } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const connecting = connectRuntime(options);
  // Not lost when the control plane fails first.
  connecting.catch(() => {});
  const controlPlane = await options.controlPlane.catch(async (error) => {
    await connecting.then((connected) => connected.close());
    throw error;
  });
  const runtime = await connecting;
  const { cri, simulated } = runtime;
  const startKubelet = () => startNodeKubelet(options, { controlPlane, cri, simulated });
  let kubelet: NodeKubelet | undefined;
  const stopKubelet = async () => {
    await kubelet?.stop();
    kubelet = undefined;
  };
  const endPods = async () =>
    options.ephemeral && removePods(cri, { runtime: options.runtime.kind, nodeDir: dataDir });
  // Pods after the kubelet, which would make them again.
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
    simulated,
    stopKubelet,
    async startKubelet() {
      kubelet ??= await startKubelet();
    },
    close,
  };
}

/** For a runtime that is only just starting. */
const endpointTimeoutMs = 10_000;

/** Each is loaded when it is chosen: nobody waits for one that is not used. */
async function connectRuntime(options: NodeOptions): Promise<ConnectedRuntime> {
  const { runtime, dataDir, logger, signal } = options;
  switch (runtime.kind) {
    case "own": {
      const { startRuntime } = await import("../runtime/start-runtime.ts");
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
        async close() {
          cri.close();
          await started.close();
        },
      };
    }
    case "simulated": {
      const { startSimulatedRuntime } = await import("../simulated/start-simulated-runtime.ts");
      const { handlers } = runtime;
      const simulated = await startSimulatedRuntime({
        logger: logger.component("simulated"),
        ...(options.clock && { clock: options.clock }),
        ...(handlers && { handlers }),
      });
      return {
        cri: simulated.client,
        simulated,
        name: "simulated",
        description: "simulated: no containers behind it",
        close: simulated.close,
      };
    }
    case "endpoint": {
      const cri = connectCri(runtime.endpoint);
      // A kubelet waits for its runtime for as long as it takes; whoever starts a cluster wants to know.
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
      return { cri, name: endpoint, description: endpoint, close: async () => cri.close() };
    }
  }
}
