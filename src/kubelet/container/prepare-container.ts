import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Container, Pod } from "../../api/objects.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import { criErrorText } from "../../cri/error-text.ts";
import type { ContainerConfig, Mount } from "../../cri/generated/cri.ts";
import { StartError } from "../start-error.ts";
import { orderIps } from "../status/pod-addresses.ts";
import type { MountedVolumes, PodVolumes } from "../volume/pod-volumes.ts";
import { configError } from "./config-error.ts";
import { buildContainerConfig } from "./container-config.ts";
import { containerSecurity } from "./container-security.ts";
import type { ImageUserReader } from "./image-user.ts";
import { type CpuSettings, containerResources } from "./linux-resources.ts";
import type { NodeFacts } from "./node-facts.ts";
import { fileMount, hostsMount, planMounts, wantsHostsFile } from "./plan-mounts.ts";
import { podHostname } from "./pod-hostname.ts";
import { containerLogPath, messagesDirectory, podDirectory, podLogDirectory } from "./pod-paths.ts";
import { readBeneath } from "./read-beneath.ts";
import { renderHosts, renderNodeHosts } from "./render-hosts.ts";
import { type Environment, type EnvironmentSources, resolveEnvironment } from "./resolve-environment.ts";
import { makeMessageFile, writeHosts } from "./write-container-files.ts";

export interface ContainerDeps {
  readonly sources: EnvironmentSources;
  readonly imageUser: ImageUserReader;
  readonly volumes: Pick<PodVolumes, "resolveSubPath">;
  readonly recorder: EventRecorder;
  /** As they are now: addresses and what can be given change. */
  readonly node: () => NodeFacts;
  /** Whether the runtime can mount read-only all the way down for this pod's handler. */
  readonly recursiveReadOnly: (pod: Pod) => boolean;
  /** The kubelet's own; pods are below `pods`, seccomp profiles below `seccomp`. */
  readonly dataDirectory: string;
  readonly logsDirectory: string;
  readonly clusterDomain: string;
  readonly cpu: CpuSettings;
  /** Whether containers that name no seccomp profile get the runtime's. */
  readonly seccompDefault: boolean;
}

export interface PrepareRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  /** Kept with the container for whoever restarts it. */
  readonly restartDelayMs: number;
  readonly imageRef: string;
  /** The sandbox's; none on the node's network. */
  readonly podIps: readonly string[];
  readonly volumes: MountedVolumes;
  readonly signal: AbortSignal;
}

/**
 * Everything a container is made from: environment, mounts, and the files of the kubelet's own that are among them.
 * Throws a StartError, `CreateContainerConfigError`.
 */
export async function prepareContainer(
  deps: ContainerDeps,
  request: PrepareRequest,
): Promise<ContainerConfig> {
  try {
    return await prepare(deps, request);
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof StartError) throw error;
    throw configError(criErrorText(error), { cause: error });
  }
}

async function prepare(deps: ContainerDeps, request: PrepareRequest): Promise<ContainerConfig> {
  const { pod, container, attempt } = request;
  const node = deps.node();
  const podIps = pod.spec?.hostNetwork ? node.hostIps : orderIps(request.podIps, node.hostIps[0]);
  const [environment, imageUser] = await Promise.all([
    containerEnvironment(deps, { ...request, podIps, node }),
    deps.imageUser(request.imageRef, request.signal),
  ]);
  const security = {
    profilesDirectory: join(deps.dataDirectory, "seccomp"),
    confineByDefault: deps.seccompDefault,
    thermalPaths: node.machine.thermalPaths,
  };
  const linux = {
    resources: containerResources({ pod, container, node, cpu: deps.cpu }),
    securityContext: containerSecurity({ pod, container, imageUser }, security),
  };
  // Files last: what cannot be made must not leave some at every try.
  const mounts = await containerMounts(deps, { ...request, podIps, node, environment });
  const log = join(podLogDirectory(deps.logsDirectory, pod), containerLogPath(container.name, attempt));
  await mkdir(dirname(log), { recursive: true, mode: 0o755 });
  return buildContainerConfig({ ...request, environment, mounts, linux });
}

type WithNode = PrepareRequest & { readonly node: NodeFacts };

/** More than any such file should have: it is read at every start. */
const maxEnvFileBytes = 64 * 1_024;

async function containerEnvironment(deps: ContainerDeps, request: WithNode): Promise<Environment> {
  const { pod, volumes, node } = request;
  const { environment, warnings } = await resolveEnvironment(deps.sources, {
    ...request,
    hostIps: node.hostIps,
    allocatable: node.allocatable,
    readVolumeFile: async (volumeName, path) => {
      const volume = volumes.get(volumeName);
      if (!volume) throw new Error(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
      return (await readBeneath(volume.hostPath, path, { maxBytes: maxEnvFileBytes })).toString();
    },
  });
  for (const message of warnings) {
    deps.recorder.record(pod, { type: "Warning", reason: "InvalidEnvironmentVariableNames", message });
  }
  return environment;
}

async function containerMounts(
  deps: ContainerDeps,
  request: WithNode & { readonly environment: Environment },
): Promise<Mount[]> {
  const { pod, container, podIps, node } = request;
  const { selinux } = node.machine;
  const uid = pod.metadata.uid ?? "";
  const directory = podDirectory(deps.dataDirectory, uid);
  const mounts = await planMounts({
    ...request,
    podDirectory: directory,
    selinux,
    recursiveReadOnly: deps.recursiveReadOnly(pod),
    resolveSubPath: (volume, subPath) => deps.volumes.resolveSubPath(volume, subPath, uid),
  });
  if (wantsHostsFile(pod, container, podIps)) {
    const hosts = await hostsContent(pod, podIps, deps.clusterDomain);
    mounts.push(hostsMount(await writeHosts(directory, hosts), selinux));
  }
  if (container.terminationMessagePath) {
    const file = await makeMessageFile(messagesDirectory(deps.dataDirectory, uid, container.name));
    mounts.push(fileMount(container.terminationMessagePath, file, selinux));
  }
  return mounts;
}

async function hostsContent(pod: Pod, podIps: readonly string[], clusterDomain: string): Promise<string> {
  const aliases = pod.spec?.hostAliases;
  if (pod.spec?.hostNetwork) return renderNodeHosts(await readFile("/etc/hosts", "utf8"), aliases);
  return renderHosts({ ...podHostname(pod, clusterDomain), podIps, aliases });
}
