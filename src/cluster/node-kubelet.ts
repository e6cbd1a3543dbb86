import type { Features } from "../api/feature-gates.ts";
import { versionInfo } from "../api/version.ts";
import { createClient } from "../client/create-client.ts";
import type { CriClient } from "../cri/cri-client.ts";
import {
  defaultKubeletConfiguration,
  type KubeletConfiguration,
} from "../kubelet/configuration/kubelet-configuration.ts";
import { createKubelet, type KubeletOptions } from "../kubelet/kubelet.ts";
import { simulatedProbes } from "../kubelet/probe/handler/simulated-probes.ts";
import { plainDirectories } from "../kubelet/volume/plain-directories.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { SimulatedRuntime } from "../simulated/start-simulated-runtime.ts";
import type { ControlPlane } from "./control-plane.ts";
import { kubeletDirOf } from "./data-dir/data-dir-paths.ts";

export interface NodeKubeletOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly features: Features;
  readonly kubeletConfig?: KubeletConfiguration;
  /** Of the kubelet and of simulated containers; the system's unless told. */
  readonly clock?: Clock;
  readonly logger: Logger;
  /** Ends a start that is under way; what has started is closed. */
  readonly signal?: AbortSignal;
}

export interface NodeKubelet {
  /** Its pods go on. */
  stop(): Promise<void>;
}

/** Any free port: several clusters live side by side on one machine. */
const defaultConfig: KubeletConfiguration = { ...defaultKubeletConfiguration, port: 0 };

/** A kubelet that has registered its node when this resolves, or has been told to stop. */
export async function startNodeKubelet(
  options: NodeKubeletOptions,
  deps: {
    readonly controlPlane: ControlPlane;
    readonly cri: CriClient;
    readonly simulated: SimulatedRuntime | undefined;
  },
): Promise<NodeKubelet> {
  const { name, dataDir, features, logger, clock, signal } = options;
  const { controlPlane, cri, simulated } = deps;
  signal?.throwIfAborted();
  const stopping = new AbortController();
  const giveUp = () => stopping.abort(signal?.reason);
  signal?.addEventListener("abort", giveUp, { once: true });
  const transport = controlPlane.connect({
    commonName: `system:node:${name}`,
    organizations: ["system:nodes"],
  });
  const client = createClient({ transport, userAgent: "kindling-kubelet" });
  try {
    const kubelet = await createKubelet(
      {
        client,
        cri,
        nodeName: name,
        dataDir: kubeletDirOf(dataDir),
        config: options.kubeletConfig ?? defaultConfig,
        clientCa: controlPlane.ca,
        ...(simulated && withoutContainers(simulated)),
        features,
        version: versionInfo.gitVersion,
        logger: logger.component("kubelet"),
        ...(clock && { clock }),
      },
      stopping.signal,
    );
    const running = kubelet.run(stopping.signal);
    await Promise.race([kubelet.ready, running]);
    return {
      async stop() {
        stopping.abort(new Error("the node stops"));
        await running;
        client.close();
      },
    };
  } catch (error) {
    client.close();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

function withoutContainers(
  simulated: SimulatedRuntime,
): Pick<KubeletOptions, "mounter" | "probeHandler" | "beforeVolume"> {
  return {
    mounter: plainDirectories,
    probeHandler: simulatedProbes({
      runtime: simulated.client.runtime,
      failureOf: simulated.probeFailure,
    }),
    beforeVolume: ({ metadata: { namespace, name, uid } }, volume, signal) =>
      simulated.awaitVolume({ namespace, pod: name, uid, volume: volume.name }, signal),
  };
}
