import { join } from "node:path";
import type { Features } from "../api/feature-gates.ts";
import type { Pod, RuntimeClass, Service } from "../api/objects.ts";
import { StatusError } from "../api/status-error.ts";
import type { Client } from "../client/client.ts";
import type { Informer } from "../client/informer.ts";
import type { PodCgroups } from "./cgroup/create-pod-cgroups.ts";
import type { KubeletConfiguration } from "./configuration/kubelet-configuration.ts";
import { hashContainer } from "./container/container-hash.ts";
import { createImageUserReader } from "./container/image-user.ts";
import { defaultCpuSettings } from "./container/linux-resources.ts";
import type { NodeFacts } from "./container/node-facts.ts";
import { podDirectory, podLogDirectory } from "./container/pod-paths.ts";
import { prepareContainer } from "./container/prepare-container.ts";
import { prepareSandbox } from "./container/prepare-sandbox.ts";
import { cleanUpPod } from "./pod/clean-up-pod.ts";
import { createPodWorker, type PodSubject, type PodWorker, type PodWorkerDeps } from "./pod/pod-worker.ts";
import type { ReferencedObjects } from "./referenced-objects.ts";
import { runtimeHandlerOf } from "./runtime-handlers.ts";
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
  readonly node: () => NodeFacts;
  readonly runtimeName: string;
  readonly dataDir: string;
}

/** Gives each pod's worker what it works with. */
export function createWorkerFactory(options: WorkerFactoryOptions): (subject: PodSubject) => PodWorker {
  const { client, config, features, objects, services, node, runtimeName, dataDir } = options;
  const logsDirectory = join(dataDir, "logs");
  const preparing = {
    ...options,
    logsDirectory,
    clusterDns: config.clusterDNS,
    clusterDomain: config.clusterDomain,
    resolvConf: config.resolvConf,
    cgroupParent: options.cgroups.parentOf,
    cpu: defaultCpuSettings,
    dataDirectory: dataDir,
    seccompDefault: false,
    recursiveReadOnly: () => false,
    imageUser: createImageUserReader(options.cri),
    sources: {
      ...objects,
      async getService(namespace: string, name: string) {
        await services.synced;
        return services.get(`${namespace}/${name}`);
      },
      async listServices(namespace: string) {
        await services.synced;
        return [...services.list()].filter(({ metadata }) => metadata.namespace === namespace);
      },
    },
  };
  const shared: Omit<PodWorkerDeps, "cleanUp"> = {
    ...options,
    specHash: hashContainer,
    maxRestartDelayMs: config.crashLoopBackOff.maxContainerRestartPeriodMs,
    generateStatus: (facts) =>
      generatePodStatus({ ...facts, features, runtimeName, hostIps: node().hostIps }),
    runtimeHandler: (pod) => runtimeHandlerOf(pod, (name) => options.runtimeClasses.get(name)),
    prepareSandbox: (request) => prepareSandbox(preparing, request),
    prepareContainer: (request) => prepareContainer(preparing, request),
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

/** Only waits for us: what is there under the name by now may be another pod. */
async function deletePod(client: Client, { metadata }: Pod, signal: AbortSignal): Promise<void> {
  const { namespace = "", name = "", uid = "" } = metadata;
  try {
    await client.delete(
      "pods",
      { namespace, name },
      { gracePeriodSeconds: 0, preconditions: { uid }, signal },
    );
  } catch (error) {
    if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) throw error;
  }
}
