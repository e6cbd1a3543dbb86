import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Features } from "../api/feature-gates.ts";
import type { Client } from "../client/client.ts";
import { createEventRecorder } from "../client/event-recorder.ts";
import { createInformer } from "../client/informer.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { type BackoffPolicy, retry } from "../lib/backoff.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMetrics } from "../lib/metrics.ts";
import { openPodCgroups } from "./cgroup/open-pod-cgroups.ts";
import { readCgroupDriver } from "./cgroup/read-cgroup-driver.ts";
import type { KubeletConfiguration } from "./configuration/kubelet-configuration.ts";
import { readMachineFacts } from "./container/read-machine-facts.ts";
import { createStartupNotes } from "./container/startup-notes.ts";
import { createImagePuller } from "./image/create-image-puller.ts";
import { createNodeStatusUpdater } from "./node/node-status-updater.ts";
import { shutdownRejection } from "./node/plan-shutdown.ts";
import { readMachine } from "./node/read-machine.ts";
import { nodeView } from "./node-view.ts";
import { createPodAdmission } from "./pod/create-pod-admission.ts";
import { createPodObserver } from "./pod-observer.ts";
import { createPodSource } from "./pod-source.ts";
import { createPodWorkers, type PodWorkers } from "./pod-workers.ts";
import { createProber } from "./probe/create-prober.ts";
import { createHandlers } from "./probe/handler/create-handlers.ts";
import type { ProbeHandler } from "./probe/handler/probe-handler.ts";
import { createProbeMetrics } from "./probe/probe-metrics.ts";
import { createReferencedObjects } from "./referenced-objects.ts";
import { serveNode } from "./server/serve-node.ts";
import { createStatusWriter } from "./status/status-writer.ts";
import { createSyncLoop } from "./sync-loop.ts";
import { type BeforeVolume, createPodVolumes } from "./volume/create-pod-volumes.ts";
import type { Mounter } from "./volume/mounter.ts";
import { createWorkerFactory } from "./worker-factory.ts";

export interface KubeletOptions {
  readonly client: Client;
  readonly cri: CriClient;
  readonly nodeName: string;
  readonly dataDir: string;
  readonly config: KubeletConfiguration;
  readonly features: Features;
  readonly version: string;
  /** Instead of the machine's own addresses. */
  readonly nodeIps?: readonly string[];
  /** Signs the certificates by which callers of the kubelet's server are known. */
  readonly clientCa?: string;
  /** The machine's own unless told. */
  readonly mounter?: Mounter;
  /** For a node without containers: what answers probes there, and what volumes wait for before they are set up. */
  readonly probeHandler?: ProbeHandler;
  readonly beforeVolume?: BeforeVolume;
  readonly logger: Logger;
  readonly clock?: Clock;
}

const runtimePolicy: BackoffPolicy = { initialMs: 50, maxMs: 2_000, factor: 2, resetAfterMs: 60_000 };

/** Puts the parts together: sources of pods above, the runtime below, one worker for each pod in between. */
export async function createKubeletParts(options: KubeletOptions, signal: AbortSignal) {
  const { client, cri, nodeName, config, features, logger, clock = systemClock, dataDir } = options;
  const podsDir = join(dataDir, "pods");
  await mkdir(podsDir, { recursive: true, mode: 0o750 });
  const common = { client, cri, clock, logger, features, config };
  const [machine, machineFacts, runtime] = await Promise.all([
    readMachine({ dataDir }),
    readMachineFacts(),
    retry(() => askRuntime(cri, config, signal), {
      policy: runtimePolicy,
      clock,
      signal,
      onFailure: (error) => logger.warn("the runtime does not answer yet", { error }),
    }),
  ]);

  let shuttingDown = false;
  const recorder = createEventRecorder({ client, component: "kubelet", host: nodeName, clock, logger });
  const node = nodeView({
    inApi: () => nodeStatus.node(),
    nodeName,
    nodeIps: options.nodeIps,
    machine,
    machineFacts,
  });
  const objects = createReferencedObjects(common);
  const volumes = createPodVolumes({
    ...common,
    podsDir,
    objects,
    node,
    ...(options.mounter && { mounter: options.mounter }),
    ...(options.beforeVolume && { beforeVolume: options.beforeVolume }),
  });
  const observer = createPodObserver({ ...common, dataDirectory: dataDir });
  const notes = createStartupNotes({ dataDirectory: dataDir, logger });
  const metrics = createMetrics();
  const prober = createProber({
    ...common,
    handlers: options.probeHandler ?? createHandlers(cri),
    recorder,
    notes,
    kubeletStartedAtMs: clock.now(),
    random: Math.random,
    metrics: createProbeMetrics(metrics),
    hostIp: () => node().hostIps[0],
  });
  const images = createImagePuller({
    ...common,
    nodeName,
    recorder,
    eventWriteMs: recorder.writeMs,
    getSecret: objects.getSecret,
  });
  const writer = createStatusWriter(common);
  const services = createInformer({ ...common, resource: "services" });
  const runtimeClasses = createInformer({ ...common, resource: "runtimeclasses" });
  const cgroups = await openPodCgroups({
    ...common,
    nodeName,
    dataDir,
    driver: runtime.cgroups,
    cpus: machine.cpus,
    pods: () => workers.list(),
  });
  const admit = createPodAdmission({
    workers: () => workers,
    observer,
    node,
    config,
  });
  const workers: PodWorkers = createPodWorkers({
    clock,
    logger,
    createWorker: createWorkerFactory({
      ...common,
      recorder,
      images,
      volumes,
      notes,
      observer,
      prober,
      writer,
      objects,
      services,
      runtimeClasses,
      cgroups,
      node,
      runtimeName: runtime.name,
      dataDir,
      reject: (pod) => (shuttingDown ? shutdownRejection : admit(pod)),
    }),
  });
  const { syncFrequencyMs } = config;
  const syncLoop = createSyncLoop({ workers, observer, syncFrequencyMs, clock });
  const server = await serveNode({
    ...common,
    ...options,
    health: { syncloop: syncLoop.problem },
    workers,
    writer,
    progress: images,
    probes: prober,
    metrics,
    logsDirectory: join(dataDir, "logs"),
  });
  const nodeStatus = createNodeStatusUpdater({
    ...common,
    recorder,
    node: {
      name: nodeName,
      ...(options.nodeIps && { nodeIps: options.nodeIps }),
      labels: config.nodeLabels,
      taints: config.registerWithTaints,
      maxPods: config.maxPods,
      kubeletVersion: options.version,
      kubeletPort: server?.port ?? 0,
    },
    readMachine: () => readMachine({ dataDir }),
    shuttingDown: () => shuttingDown,
    register: config.registerNode,
    updateFrequencyMs: config.nodeStatusUpdateFrequencyMs,
    reportFrequencyMs: config.nodeStatusReportFrequencyMs,
  });
  const pods = createInformer({ ...common, resource: "pods", fieldSelector: `spec.nodeName=${nodeName}` });
  const source = createPodSource({
    ...common,
    pods,
    workers,
    nodeName,
    staticPodPath: config.staticPodPath,
    node: () => nodeStatus.registered,
  });

  observer.onChange(workers.noticed);
  prober.onChange(workers.noticed);
  volumes.onChange(workers.retryNow);

  return {
    ...common,
    nodeName,
    recorder,
    objects,
    volumes,
    observer,
    prober,
    writer,
    services,
    runtimeClasses,
    cgroups,
    workers,
    syncLoop,
    server,
    nodeStatus,
    source,
    /** From now on no pod is let in, and the node says that it goes. */
    beginShutdown() {
      shuttingDown = true;
      nodeStatus.lookAgain();
    },
  };
}

export type KubeletParts = Awaited<ReturnType<typeof createKubeletParts>>;

/** What is asked of a runtime once, as soon as it answers. */
async function askRuntime(cri: CriClient, config: KubeletConfiguration, signal: AbortSignal) {
  const { runtimeName: name } = await cri.runtime.version({ version: "0.1.0" }, { signal });
  return { name, cgroups: await readCgroupDriver(cri, { otherwise: config.cgroupDriver, signal }) };
}
