import { mkdir } from "node:fs/promises";
import type { Features } from "../api/meta/feature-gates.ts";
import type { Client } from "../client/api/client.ts";
import { createEventRecorder } from "../client/events/event-recorder.ts";
import { createInformer } from "../client/informers/informer.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { type BackoffPolicy, retry } from "../lib/backoff.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMetrics } from "../lib/metrics/metrics.ts";
import { openPodCgroups, readCgroupDriver } from "./cgroups/open-pod-cgroups.ts";
import type { KubeletConfiguration } from "./config/kubelet-configuration.ts";
import { readMachineFacts } from "./containers/read-machine-facts.ts";
import { createImagePuller } from "./images/image-puller.ts";
import { logsDirectoryOf, podsDirectory } from "./model/pod-paths.ts";
import { createReferencedObjects } from "./model/referenced-objects.ts";
import { createStartupCheckpoints } from "./model/startup-checkpoints.ts";
import { createNodeStatusUpdater } from "./node/node-status-updater.ts";
import { readMachine } from "./node/read-machine.ts";
import { openOwnership } from "./ownership/open-ownership.ts";
import { createPodAcceptance } from "./pods/accept-pod.ts";
import { createPodObserver } from "./pods/pod-observer.ts";
import { createPodSource } from "./pods/pod-source.ts";
import { createPodWorkers, createSyncLoop } from "./pods/pod-workers.ts";
import type { ProtectPod } from "./pods/run-pod-actions.ts";
import { createWorkerFactory } from "./pods/worker-factory.ts";
import { createNodeView } from "./pods/worker-status.ts";
import { createProber } from "./probes/create-prober.ts";
import { createHandlers } from "./probes/handler/create-handlers.ts";
import type { ProbeHandler } from "./probes/handler/probe-handler.ts";
import { createProbeMetrics } from "./probes/probe-metrics.ts";
import { serveNode } from "./server/kubelet-server.ts";
import { createStatusWriter } from "./status/status-writer.ts";
import type { Mounter } from "./volumes/mounter.ts";
import { type BeforeVolume, createPodVolumes } from "./volumes/pod-volumes.ts";

export interface KubeletOptions {
  readonly client: Client;
  readonly cri: CriClient;
  readonly nodeName: string;
  readonly dataDir: string;
  readonly config: KubeletConfiguration;
  readonly features: Features;
  readonly version: string;
  /** Adopts sandboxes that this kubelet did not create, instead of refusing to start. */
  readonly adoptSandboxes?: boolean;
  /** Overrides the addresses of the machine. */
  readonly nodeIps?: readonly string[];
  /** CA that signs client certificates for the kubelet's server. */
  readonly clientCa?: string;
  /** Mounts volumes. Defaults to the mounts of this machine. */
  readonly mounter?: Mounter;
  /** Answers probes on a node without containers. Defaults to real probes. */
  readonly probeHandler?: ProbeHandler;
  /** Delays or fails the setup of volumes on a node without containers. */
  readonly beforeVolume?: BeforeVolume;
  /** Puts the network policies of a pod in place before its containers start. May wait. Default: there are none. */
  readonly protectPod?: ProtectPod;
  /** Addresses of the cluster's DNS servers where the configuration has none. May wait for their start. */
  readonly clusterDns?: () => Promise<readonly string[]>;
  readonly logger: Logger;
  readonly clock?: Clock;
}

const runtimePolicy: BackoffPolicy = { initialMs: 50, maxMs: 2_000, factor: 2, resetAfterMs: 60_000 };

/** Creates the parts of a kubelet, each after the parts that it uses. */
export async function createKubeletParts(options: KubeletOptions, signal: AbortSignal) {
  const { client, cri, nodeName, config, features, logger, clock = systemClock, dataDir } = options;
  const { nodeIps, mounter, beforeVolume, clientCa } = options;
  const podsDir = podsDirectory(dataDir);
  await mkdir(podsDir, { recursive: true, mode: 0o750 });
  const [machine, machineFacts, runtime] = await Promise.all([
    readMachine({ dataDir }),
    readMachineFacts(),
    retry(() => readRuntimeInfo(cri, config, signal), {
      policy: runtimePolicy,
      clock,
      signal,
      onFailure: (error) => logger.warn("the container runtime does not respond yet, retrying", { error }),
    }),
  ]);

  // Comes first: a kubelet must not touch the sandboxes of another kubelet.
  const adopt = options.adoptSandboxes ?? false;
  const ownership = await openOwnership({ client, cri, nodeName, dataDir, adopt, clock, logger }, signal);

  let shuttingDown = false;
  const isShuttingDown = () => shuttingDown;
  const recorder = createEventRecorder({ client, component: "kubelet", host: nodeName, clock, logger });
  const node = createNodeView({ nodeName, nodeIps, machine, machineFacts });
  const objects = createReferencedObjects({ client, clock, logger });
  const services = createInformer({ client, resource: "services", clock, logger });
  const runtimeClasses = createInformer({ client, resource: "runtimeclasses", clock, logger });
  const volumes = createPodVolumes({
    client,
    clock,
    logger,
    podsDir,
    objects,
    node: node.get,
    ...(mounter && { mounter }),
    ...(beforeVolume && { beforeVolume }),
  });
  const observer = createPodObserver({
    cri,
    isOwn: ownership.isOwn,
    dataDirectory: dataDir,
    clock,
    logger,
  });
  const checkpoints = createStartupCheckpoints({ dataDirectory: dataDir, logger });
  const metrics = createMetrics();
  const prober = createProber({
    handlers: options.probeHandler ?? createHandlers(cri),
    recorder,
    checkpoints,
    clock,
    logger,
    features,
    kubeletStartedAtMs: clock.now(),
    random: Math.random,
    metrics: createProbeMetrics(metrics),
    hostIp: () => node.get().hostIps[0],
  });
  const images = createImagePuller({
    cri,
    getSecret: objects.getSecret,
    recorder,
    nodeName,
    eventWriteMs: recorder.writeMs,
    config,
    features,
    metrics,
    isContainerd: runtime.name === "containerd",
    clock,
    logger,
  });
  const writer = createStatusWriter({ client, clock, logger, features });

  const workers = createPodWorkers({ clock, logger });
  const cgroups = await openPodCgroups({
    config,
    driver: runtime.cgroups,
    nodeName,
    dataDir,
    cpus: machine.cpus,
    pods: workers.list,
    clock,
    logger,
  });
  const reject = createPodAcceptance({
    workers,
    observer,
    node: node.get,
    refreshNode: node.refresh,
    config,
    isShuttingDown,
  });
  workers.setFactory(
    createWorkerFactory({
      clusterDns: async () =>
        config.clusterDNS.length > 0 ? config.clusterDNS : ((await options.clusterDns?.()) ?? []),
      workers,
      client,
      cri,
      clock,
      logger,
      config,
      features,
      dataDir,
      runtimeName: runtime.name,
      recorder,
      node: node.get,
      ownership,
      objects,
      services,
      runtimeClasses,
      volumes,
      observer,
      checkpoints,
      prober,
      images,
      writer,
      cgroups,
      reject,
      protectPod: options.protectPod,
    }),
  );
  const syncLoop = createSyncLoop({ workers, observer, syncFrequencyMs: config.syncFrequencyMs, clock });
  const server = await serveNode({
    nodeName,
    client,
    cri,
    config,
    ...(clientCa && { clientCa }),
    workers,
    writer,
    logsDirectory: logsDirectoryOf(dataDir),
    progress: images,
    probes: prober,
    metrics,
    health: { syncloop: syncLoop.problem },
    clock,
    logger,
  });
  const nodeStatus = createNodeStatusUpdater({
    client,
    cri,
    clock,
    logger,
    recorder,
    node: {
      name: nodeName,
      ...(nodeIps && { nodeIps }),
      labels: config.nodeLabels,
      taints: config.registerWithTaints,
      maxPods: config.maxPods,
      kubeletVersion: options.version,
      kubeletPort: server?.port ?? 0,
    },
    readMachine: () => readMachine({ dataDir }),
    shuttingDown: isShuttingDown,
    pullProgress: images.progressSupport,
    register: config.registerNode,
    updateFrequencyMs: config.nodeStatusUpdateFrequencyMs,
    reportFrequencyMs: config.nodeStatusReportFrequencyMs,
  });
  node.setSource(nodeStatus);
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const pods = createInformer({ client, resource: "pods", fieldSelector, clock, logger });
  const source = createPodSource({
    client,
    pods,
    workers,
    node: () => nodeStatus.registered,
    nodeName,
    staticPodPath: config.staticPodPath,
    clock,
    logger,
  });

  observer.onChange(workers.onStateChanged);
  prober.onChange(workers.onStateChanged);
  volumes.onChange(workers.retryNow);

  return {
    client,
    cri,
    clock,
    logger,
    config,
    nodeName,
    dataDir,
    recorder,
    objects,
    volumes,
    observer,
    prober,
    writer,
    services,
    runtimeClasses,
    cgroups,
    ownership,
    workers,
    syncLoop,
    server,
    nodeStatus,
    source,
    /** Rejects all new pods and updates the node's status. */
    beginShutdown() {
      shuttingDown = true;
      nodeStatus.updateSoon();
    },
  };
}

export type KubeletParts = Awaited<ReturnType<typeof createKubeletParts>>;

/** Reads the facts about the runtime that do not change while it runs. */
async function readRuntimeInfo(cri: CriClient, config: KubeletConfiguration, signal: AbortSignal) {
  const { runtimeName: name } = await cri.runtime.version({ version: "0.1.0" }, { signal });
  return { name, cgroups: await readCgroupDriver(cri, { otherwise: config.cgroupDriver, signal }) };
}
