import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import type { Features } from "../api/feature-gates.ts";
import type { Client } from "../client/client.ts";
import { createEventRecorder } from "../client/event-recorder.ts";
import { createInformer } from "../client/informer.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { type BackoffPolicy, retry } from "../lib/backoff.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { openPodCgroups } from "./cgroup/open-pod-cgroups.ts";
import { readCgroupDriver } from "./cgroup/read-cgroup-driver.ts";
import type { KubeletConfiguration } from "./configuration/kubelet-configuration.ts";
import { readMachineFacts } from "./container/read-machine-facts.ts";
import { createStartupNotes } from "./container/startup-notes.ts";
import { findOrphans } from "./find-orphans.ts";
import { runHousekeeping } from "./housekeeping/run-housekeeping.ts";
import { createImagePuller } from "./image/create-image-puller.ts";
import { runNodeLease } from "./node/node-lease.ts";
import { createNodeStatusUpdater } from "./node/node-status-updater.ts";
import { planShutdown, shutdownEnding, shutdownRejection } from "./node/plan-shutdown.ts";
import { readMachine } from "./node/read-machine.ts";
import { nodeView } from "./node-view.ts";
import { createAdmission } from "./pod/create-admission.ts";
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

/** A node's agent. Its pods go on when it stops; the next one takes them over. */
export interface Kubelet {
  /** Resolves once the node is registered and every pod that it should run is known; never when it stops before. */
  readonly ready: Promise<void>;
  /** The node goes down: no new pods, and those that are here end within the configured time. */
  shutDown(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

/** More make a burst of pods no faster, and each costs both ends a handshake and buffers. */
export const maxApiConnections = 16;

const runtimePolicy: BackoffPolicy = { initialMs: 50, maxMs: 2_000, factor: 2, resetAfterMs: 60_000 };

/** Puts the parts together: sources of pods above, the runtime below, one worker for each pod in between. */
export async function createKubelet(options: KubeletOptions, signal: AbortSignal): Promise<Kubelet> {
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
  const registry = new Registry();
  const prober = createProber({
    ...common,
    handlers: options.probeHandler ?? createHandlers(cri),
    recorder,
    notes,
    kubeletStartedAtMs: clock.now(),
    random: Math.random,
    metrics: createProbeMetrics(registry),
    hostIp: () => node().hostIps[0],
  });
  const images = createImagePuller({
    ...common,
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
  const admit = createAdmission({
    workers: () => workers,
    observer,
    node,
    config,
  });
  const workers: PodWorkers = createPodWorkers({
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
  const server = await serveNode({
    ...common,
    ...options,
    workers,
    writer,
    progress: images,
    probes: prober,
    metrics: registry,
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
  volumes.onChange((podUid) => {
    workers.retryNow(podUid);
    const pod = workers.find(podUid);
    if (pod) volumes.refresh(pod, signal).catch((error) => logger.debug("volumes not refreshed", { error }));
  });

  /** What a kubelet before this one left running, or lying about, of pods that nobody asks for any more. */
  async function endOrphans(stopped: AbortSignal): Promise<void> {
    await source.synced;
    for (const orphan of findOrphans(observer.list(), workers.has)) {
      workers.update({ pod: orphan, removed: true, inApi: undefined });
    }
    const left = (await volumes.podsOnDisk()).filter((podUid) => !workers.has(podUid));
    const onFailure = (error: unknown) => logger.warn("volumes of a pod before were not removed", { error });
    const trying = { policy: runtimePolicy, clock, signal: stopped, onFailure };
    await Promise.all(left.map((podUid) => retry(() => volumes.tearDown(podUid), trying)));
    await cgroups.sweep(workers.has);
  }

  /** Whatever was missed is found here. */
  async function lookAtAllPods(stopped: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(config.syncFrequencyMs, stopped).catch(() => {});
      if (stopped.aborted) return;
      for (const { metadata } of workers.list()) workers.noticed(metadata.uid ?? "");
    }
  }

  async function shutDown(): Promise<void> {
    shuttingDown = true;
    nodeStatus.lookAgain();
    for (const { pods: ending, graceSeconds } of planShutdown(workers.list(), config)) {
      const uids = ending.map(({ metadata }) => metadata.uid ?? "");
      await Promise.all(uids.map((uid) => workers.end(uid, shutdownEnding, graceSeconds)));
    }
  }

  const ready = Promise.all([nodeStatus.registered, source.synced]).then(
    () => {},
    // Stopped before: it will not be ready, and that is no failure.
    () => new Promise<void>(() => {}),
  );
  return {
    shutDown,
    ready,
    async run(stop) {
      const stopped = AbortSignal.any([signal, stop]);
      // Every part and every pod's worker waits for it.
      setMaxListeners(0, stopped);
      const unlessStopped = (error: unknown) => {
        if (!stopped.aborted) throw error;
      };
      const observing = observer.run(stopped);
      // Workers decide by what runs: nothing may be decided before that is known.
      const sourcing = Promise.race([observer.synced, observing]).then(() =>
        Promise.all([source.run(stopped), endOrphans(stopped).catch(unlessStopped)]),
      );
      await Promise.all([
        observing,
        sourcing,
        workers.run(stopped),
        lookAtAllPods(stopped),
        recorder.run(stopped),
        nodeStatus.run(stopped),
        runNodeLease(
          {
            ...common,
            nodeName,
            node: nodeStatus.node,
            leaseDurationSeconds: config.nodeLeaseDurationSeconds,
          },
          stopped,
        ),
        writer.run(stopped),
        objects.run(stopped),
        volumes.run(stopped),
        services.run(stopped),
        runtimeClasses.run(stopped),
        runHousekeeping({ ...config, ...common, observer }, stopped),
      ]);
      prober.close();
      await Promise.all([server?.close(), cgroups.close()]);
    },
  };
}

/** What is asked of a runtime once, as soon as it answers. */
async function askRuntime(cri: CriClient, config: KubeletConfiguration, signal: AbortSignal) {
  const { runtimeName: name } = await cri.runtime.version({ version: "0.1.0" }, { signal });
  return { name, cgroups: await readCgroupDriver(cri, { otherwise: config.cgroupDriver, signal }) };
}
