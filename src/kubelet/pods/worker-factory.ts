// Clauses: 3541-8
import type { Features } from "../../api/meta/feature-gates.ts";
import type { Pod, RuntimeClass, Service } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Informer } from "../../client/informers/informer.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { createChildAbort } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { PodCgroups } from "../cgroups/create-pod-cgroups.ts";
import { defaultCpuSettings } from "../cgroups/linux-resources.ts";
import type { KubeletConfiguration } from "../config/kubelet-configuration.ts";
import { createImageUserReader } from "../containers/container-security.ts";
import { type ContainerDeps, prepareContainer } from "../containers/prepare-container.ts";
import { prepareSandbox, type SandboxDeps } from "../containers/prepare-sandbox.ts";
import type { ImagePuller } from "../images/image-puller.ts";
import { isStaticPod } from "../model/cri-labels.ts";
import { canMountRecursively } from "../model/node-facts.ts";
import type { ObservedPod, Prober } from "../model/observed-pod.ts";
import { logsDirectoryOf, podDirectory, podLogDirectory } from "../model/pod-paths.ts";
import type { ReferencedObjects } from "../model/referenced-objects.ts";
import type { StartupCheckpoints } from "../model/startup-checkpoints.ts";
import type { SandboxOwnership } from "../ownership/open-ownership.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import type { PodVolumes } from "../volumes/pod-volumes.ts";
import { cleanUpPod, deletePod } from "./clean-up-pod.ts";
import type { PodObserver } from "./pod-observer.ts";
import { createPodWorker, type PodWorkerDeps } from "./pod-worker.ts";
import type { CreateWorker, PodWorkers } from "./pod-workers.ts";
import type { NodeView } from "./worker-status.ts";

export interface WorkerFactoryOptions {
  readonly client: Client;
  readonly cri: CriClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: KubeletConfiguration;
  readonly features: Features;
  readonly dataDir: string;
  readonly runtimeName: string;
  readonly recorder: EventRecorder;
  readonly node: () => NodeView;
  readonly ownership: Pick<SandboxOwnership, "mark">;
  readonly objects: ReferencedObjects;
  readonly services: Informer<Service>;
  readonly runtimeClasses: Informer<RuntimeClass>;
  readonly volumes: PodVolumes;
  readonly observer: PodObserver;
  readonly checkpoints: StartupCheckpoints;
  readonly prober: Prober;
  readonly images: ImagePuller;
  readonly writer: StatusWriter;
  readonly cgroups: PodCgroups;
  readonly clusterDns: SandboxDeps["clusterDns"];
  readonly workers: Pick<PodWorkers, "has" | "listRemoved">;
  /** Reason why this node rejects the pod. */
  readonly reject: PodWorkerDeps["reject"];
  readonly protectPod: PodWorkerDeps["protectPod"];
}

/** Creates pod workers that share the parts of this kubelet. */
export function createWorkerFactory(options: WorkerFactoryOptions): CreateWorker {
  const { client, cri, clock, logger, config, features, dataDir, recorder, node } = options;
  const { objects, services, volumes, observer, cgroups, workers } = options;
  const logsDirectory = logsDirectoryOf(dataDir);
  const cpu = { ...defaultCpuSettings, enforceQuota: config.cpuCFSQuota };
  const findRuntimeClass = (name: string) => options.runtimeClasses.get(name);

  const sandboxDeps: SandboxDeps = {
    node,
    logsDirectory,
    clusterDns: options.clusterDns,
    clusterDomain: config.clusterDomain,
    resolvConf: config.resolvConf,
    cgroupParent: cgroups.parentOf,
    sandboxMark: options.ownership.mark,
    cpu,
  };
  const containerDeps: ContainerDeps = {
    sources: {
      getConfigMap: objects.getConfigMap,
      getSecret: objects.getSecret,
      getService: async (namespace, name) => services.get(`${namespace}/${name}`),
      listServices: async (namespace) =>
        [...services.list()].filter(({ metadata }) => metadata.namespace === namespace),
    },
    imageUser: createImageUserReader(cri),
    volumes,
    recorder,
    node,
    recursiveReadOnly: (pod) => canMountRecursively(pod, findRuntimeClass, node().runtimeHandlers),
    dataDirectory: dataDir,
    logsDirectory,
    clusterDomain: config.clusterDomain,
    cpu,
    seccompDefault: config.seccompDefault,
  };

  async function untilServicesSynced(signal: AbortSignal): Promise<void> {
    const synced = createChildAbort(signal);
    const aborted = clock.sleep(Infinity, synced.signal);
    await Promise.race([services.synced, aborted]).finally(() => synced.abort());
  }

  async function cleanUp(pod: Pod, signal: AbortSignal): Promise<void> {
    const podUid = pod.metadata.uid ?? "";
    await cleanUpPod({
      cri,
      observed: await observer.refresh(podUid),
      directories: [podDirectory(dataDir, podUid), podLogDirectory(logsDirectory, pod)],
      signal,
    });
    await Promise.all([observer.refresh(podUid), cgroups.remove(podUid)]);
  }

  const unclaimed = () => [...observer.list()].filter(({ uid }) => !workers.has(uid));

  const deps: PodWorkerDeps = {
    cri,
    clock,
    logger,
    recorder,
    node,
    features,
    findRuntimeClass,
    runtimeName: options.runtimeName,
    images: options.images,
    volumes,
    checkpoints: options.checkpoints,
    observer,
    prober: options.prober,
    writer: options.writer,
    maxRestartDelayMs: config.crashLoopBackOff.maxContainerRestartPeriodMs,
    reject: options.reject,
    protectPod: options.protectPod,
    hasPredecessor: (pod) =>
      hasPredecessor(pod, { terminating: workers.listRemoved(), unclaimed: unclaimed() }),
    prepareSandbox: (request) => prepareSandbox(sandboxDeps, request),
    async prepareContainer(request) {
      // Static pods start without an API server; other pods need the services of their namespace in the environment.
      if (!isStaticPod(request.pod)) await untilServicesSynced(request.signal);
      return prepareContainer(containerDeps, request);
    },
    cleanUpPod: cleanUp,
    deleteFromApi: (pod, signal) => deletePod(client, pod, signal),
  };
  return (first) => createPodWorker(deps, first);
}

export interface PossiblePredecessors {
  /** Pods that are gone from their source and still terminating. */
  readonly terminating: Iterable<Pod>;
  /** Pods in the runtime that have no worker yet: left by an earlier kubelet. */
  readonly unclaimed: Iterable<ObservedPod>;
}

/**
 * Whether an earlier pod of the same namespace and name still runs on this node. A force delete removes a pod from the API
 * at once, so that its controller creates the next pod of that name while the old one is still terminating. A pod of a
 * StatefulSet must not run twice, so the new pod waits.
 */
export function hasPredecessor({ metadata }: Pod, { terminating, unclaimed }: PossiblePredecessors): boolean {
  const { uid, name, namespace } = metadata;
  const isEarlier = (other: { uid?: string; name?: string; namespace?: string }) =>
    other.uid !== uid && other.name === name && other.namespace === namespace;
  return (
    [...terminating].some((pod) => isEarlier(pod.metadata)) ||
    [...unclaimed].some((pod) => isEarlier(pod) && isRunning(pod))
  );
}

function isRunning({ sandboxes, containers }: ObservedPod): boolean {
  return sandboxes.some(({ ready }) => ready) || containers.some(({ state }) => state.kind === "running");
}
