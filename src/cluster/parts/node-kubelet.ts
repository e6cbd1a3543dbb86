import type { Features } from "../../api/meta/feature-gates.ts";
import type { Container, Probe } from "../../api/meta/objects.ts";
import { versionInfo } from "../../api/meta/version.ts";
import { createClient } from "../../client/api/create-client.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import {
  defaultKubeletConfiguration,
  type KubeletConfiguration,
} from "../../kubelet/config/kubelet-configuration.ts";
import { createKubelet, type KubeletOptions } from "../../kubelet/kubelet.ts";
import type { ProbeKind } from "../../kubelet/probes/decide-probe.ts";
import { runExec } from "../../kubelet/probes/handler/create-handlers.ts";
import { failed, type ProbeHandler } from "../../kubelet/probes/handler/probe-handler.ts";
import type { Mounter } from "../../kubelet/volumes/mounter.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { SimulatedRuntime } from "../../simulated/start-simulated-runtime.ts";
import { kubeletDirOf } from "../data-dir/data-dir-files.ts";
import type { ControlPlane } from "./control-plane.ts";

export interface NodeKubeletOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly controlPlane: ControlPlane;
  readonly cri: CriClient;
  /** Undefined unless the runtime is simulated. */
  readonly simulated: SimulatedRuntime | undefined;
  readonly features: Features;
  readonly kubeletConfig?: KubeletConfiguration;
  /** DNS of the cluster. Default: that of the kubelet configuration. */
  readonly clusterDns?: KubeletOptions["clusterDns"];
  readonly clusterDomain?: string;
  readonly protectPod?: KubeletOptions["protectPod"];
  /** See KubeletOptions. Kindling's own runtime serves this node alone, so all its sandboxes belong to the node. */
  readonly adoptSandboxes?: boolean;
  /** Clock of the kubelet and of simulated containers. Default: the system clock. */
  readonly clock?: Clock;
  readonly logger: Logger;
  /** Aborts the start and closes the parts that were started. */
  readonly signal?: AbortSignal;
}

export interface NodeKubelet {
  /** Stops the kubelet. Its pods keep running. */
  stop(): Promise<void>;
}

/** Any free port, so that several clusters can run on one machine. */
const defaultConfig: KubeletConfiguration = { ...defaultKubeletConfiguration, port: 0 };

/** Starts a kubelet. Resolves when its node is registered or the start was aborted. */
export async function startNodeKubelet(options: NodeKubeletOptions): Promise<NodeKubelet> {
  const {
    name,
    dataDir,
    controlPlane,
    cri,
    simulated,
    features,
    logger,
    clock = systemClock,
    signal,
  } = options;
  signal?.throwIfAborted();
  const config = options.kubeletConfig ?? defaultConfig;
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
        config: { ...config, clusterDomain: config.clusterDomain || (options.clusterDomain ?? "") },
        clusterDns: options.clusterDns,
        protectPod: options.protectPod,
        clientCa: controlPlane.ca,
        mounter: simulated && plainDirectories,
        probeHandler: simulated && createSimulatedProbes(simulated),
        beforeVolume: simulated && awaitVolumeOf(simulated),
        adoptSandboxes: options.adoptSandboxes ?? false,
        features,
        version: versionInfo.gitVersion,
        logger: logger.component("kubelet"),
        clock,
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

function createSimulatedProbes({ client, probeFailure }: SimulatedRuntime): KubeletOptions["probeHandler"] {
  return simulatedProbes({ runtime: client.runtime, failureOf: probeFailure });
}

function awaitVolumeOf({ awaitVolume }: SimulatedRuntime): KubeletOptions["beforeVolume"] {
  return ({ metadata: { namespace, name, uid } }, volume, signal) =>
    awaitVolume({ namespace, pod: name, uid, volume: volume.name }, signal);
}

/** Mounter for simulated nodes: uses plain directories and needs no root. */
const plainDirectories: Mounter = {
  isMountPoint: async () => false,
  mountPointsBelow: async () => [],
  mountTmpfs: async () => {},
  bind: async () => {},
  unmount: async () => {},
};

export interface SimulatedProbesDeps {
  readonly runtime: Pick<CriClient["runtime"], "execSync">;
  /** Returns why a probe fails, or undefined if it succeeds. */
  failureOf(containerId: string, kind: ProbeKind): string | undefined;
}

/** Creates the handler for simulated containers, which have no listener: probes fail only by rules. */
export function simulatedProbes({ runtime, failureOf }: SimulatedProbesDeps): ProbeHandler {
  return async (probe, target, options) => {
    const failure = failureOf(target.containerId, kindOf(probe, target.container));
    if (failure !== undefined) return failed(failure);
    return probe.exec ? runExec(runtime, probe.exec, { target, ...options }) : { kind: "success" };
  };
}

function kindOf(probe: Probe, { startupProbe, livenessProbe }: Container): ProbeKind {
  if (probe === startupProbe) return "startup";
  return probe === livenessProbe ? "liveness" : "readiness";
}
