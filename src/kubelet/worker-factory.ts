import { join } from "node:path";
import type { Features } from "../api/feature-gates.ts";
import type { Pod, RuntimeClass, Service } from "../api/objects.ts";
import type { Client } from "../client/client.ts";
import type { Informer } from "../client/informer.ts";
import { createChildAbort } from "../lib/child-abort.ts";
import type { PodCgroups } from "./cgroup/create-pod-cgroups.ts";
import type { KubeletConfiguration } from "./configuration/kubelet-configuration.ts";
import { hashContainer } from "./container/container-hash.ts";
import { createImageUserReader } from "./container/image-user.ts";
import { defaultCpuSettings } from "./container/linux-resources.ts";
import { podDirectory, podLogDirectory } from "./container/pod-paths.ts";
import { prepareContainer } from "./container/prepare-container.ts";
import { prepareSandbox } from "./container/prepare-sandbox.ts";
import { deletePod } from "./delete-pod.ts";
import type { NodeView } from "./node-view.ts";
import { cleanUpPod } from "./pod/clean-up-pod.ts";
import { createPodWorker, type PodSubject, type PodWorker, type PodWorkerDeps } from "./pod/pod-worker.ts";
import type { ReferencedObjects } from "./referenced-objects.ts";
import { canMountRecursively, runtimeHandlerOf } from "./runtime-handlers.ts";
import { isStaticPod } from "./static-pod/static-pod-annotations.ts";
import { generatePodStatus } from "./status/generate-pod-status.ts";

export interface WorkerFactoryOptions
  extends Pick<
    PodWorkerDeps,
    | "cri"
    | "recorder"
    | "clock"
    | "logger"
    | "images"
    | "volumes"
    | "notes"
    | "observer"
    | "prober"
    | "writer"
    | "reject"
  > {
  readonly client: Client;
  readonly config: KubeletConfiguration;
  readonly features: Features;
  readonly objects: ReferencedObjects;
  readonly services: Informer<Service>;
  readonly runtimeClasses: Informer<RuntimeClass>;
  readonly cgroups: PodCgroups;
  readonly node: () => NodeView;
  readonly runtimeName: string;
  readonly dataDir: string;
}

/** Gives each pod's worker what it works with. */
export function createWorkerFactory(options: WorkerFactoryOptions): (subject: PodSubject) => PodWorker {
  const { client, config, features, objects, services, node, runtimeName, dataDir } = options;
  const logsDirectory = join(dataDir, "logs");
  const findClass = (name: string) => options.runtimeClasses.get(name);
  const recursiveReadOnly = ({ spec }: Pod) =>
    canMountRecursively(findClass(spec?.runtimeClassName ?? "")?.handler ?? "", node().runtimeHandlers);
  const preparing = {
    ...options,
    logsDirectory,
    clusterDns: config.clusterDNS,
    clusterDomain: config.clusterDomain,
    resolvConf: config.resolvConf,
    cgroupParent: options.cgroups.parentOf,
    cpu: { ...defaultCpuSettings, enforceQuota: config.cpuCFSQuota },
    dataDirectory: dataDir,
    seccompDefault: config.seccompDefault,
    recursiveReadOnly,
    imageUser: createImageUserReader(options.cri),
    sources: {
      ...objects,
      getService: async (namespace: string, name: string) => services.get(`${namespace}/${name}`),
      listServices: async (namespace: string) =>
        [...services.list()].filter(({ metadata }) => metadata.namespace === namespace),
    },
  };

  async function untilServicesKnown(signal: AbortSignal): Promise<void> {
    const known = createChildAbort(signal);
    const aborted = options.clock.sleep(Infinity, known.signal);
    await Promise.race([services.synced, aborted]).finally(() => known.abort());
  }

  const shared: Omit<PodWorkerDeps, "cleanUp"> = {
    ...options,
    specHash: hashContainer,
    maxRestartDelayMs: config.crashLoopBackOff.maxContainerRestartPeriodMs,
    generateStatus: (facts) =>
      generatePodStatus({
        ...facts,
        features,
        runtimeName,
        hostIps: node().hostIps,
        recursiveReadOnlyMounts: recursiveReadOnly(facts.pod),
      }),
    runtimeHandler: (pod) => runtimeHandlerOf(pod, findClass),
    prepareSandbox: (request) => prepareSandbox(preparing, request),
    async prepareContainer(request) {
      // A pod that the API server told us of may count on its services too; one from a file must start without either.
      if (!isStaticPod(request.pod)) await untilServicesKnown(request.signal);
      return prepareContainer(preparing, request);
    },
    deleteFromApi: (pod, signal) => deletePod(client, pod, signal),
  };
  return (subject) =>
    createPodWorker(
      {
        ...shared,
        async cleanUp(podUid, signal) {
          await cleanUpPod({
            cri: options.cri,
            observed: await options.observer.refresh(podUid),
            directories: [podDirectory(dataDir, podUid), podLogDirectory(logsDirectory, subject.pod)],
            signal,
          });
          await Promise.all([options.observer.refresh(podUid), options.cgroups.remove(podUid)]);
        },
      },
      subject,
    );
}
