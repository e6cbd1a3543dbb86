// Clauses: 3815-3
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Container, Pod } from "../../api/meta/objects.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { criErrorText } from "../../cri/error-text.ts";
import {
  type ContainerConfig,
  ImageSpec,
  type LinuxContainerConfig,
  type Mount,
  Signal,
} from "../../cri/generated/cri.ts";
import { type CpuSettings, containerResources } from "../cgroups/linux-resources.ts";
import { type Attempt, containerAnnotations, containerLabels } from "../model/cri-labels.ts";
import { createExpand } from "../model/expand.ts";
import type { ContainerNodeFacts } from "../model/node-facts.ts";
import { orderIps } from "../model/observed-pod.ts";
import { containerLogPath, messagesDirectory, podDirectory, podLogDirectory } from "../model/pod-paths.ts";
import { configError, StartError } from "../model/start-error.ts";
import type { MountedVolumes, PodVolumes } from "../volumes/pod-volumes.ts";
import { createMessageFile, readBeneath, writeHosts } from "./container-files.ts";
import { containerSecurity, type ImageUserReader } from "./container-security.ts";
import { fileMount, hostsMount, planMounts, wantsHostsFile } from "./plan-mounts.ts";
import { podHostname, renderHosts, renderNodeHosts } from "./pod-hostname.ts";
import { type Environment, type EnvironmentSources, resolveEnvironment } from "./resolve-environment.ts";

export interface ContainerDeps {
  readonly sources: EnvironmentSources;
  readonly imageUser: ImageUserReader;
  readonly volumes: Pick<PodVolumes, "resolveSubPath">;
  readonly recorder: EventRecorder;
  /** Current facts about the node: addresses and allocatable resources can change. */
  readonly node: () => ContainerNodeFacts;
  /** Whether the pod's runtime handler supports recursive read-only mounts. */
  readonly recursiveReadOnly: (pod: Pod) => boolean;
  /** Data directory of the kubelet; pods are in `pods`, seccomp profiles in `seccomp`. */
  readonly dataDirectory: string;
  readonly logsDirectory: string;
  readonly clusterDomain: string;
  readonly cpu: CpuSettings;
  /** Whether containers without a seccomp profile get the runtime's default. */
  readonly seccompDefault: boolean;
}

export interface PrepareRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  /** Stored in the container's annotations for its restart. */
  readonly restartDelayMs: number;
  readonly imageRef: string;
  /** IP addresses of the sandbox; empty on the host network. */
  readonly podIps: readonly string[];
  readonly volumes: MountedVolumes;
  readonly signal: AbortSignal;
}

/**
 * Builds the CRI configuration of a container and creates the files that it mounts. Throws a StartError with the reason
 * `CreateContainerConfigError`.
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
  // Files come last, so that an invalid configuration does not leave files behind at every attempt.
  const mounts = await containerMounts(deps, { ...request, podIps, node, environment });
  const log = join(podLogDirectory(deps.logsDirectory, pod), containerLogPath(container.name, attempt));
  await mkdir(dirname(log), { recursive: true, mode: 0o755 });
  return buildContainerConfig({ ...request, environment, mounts, linux });
}

type WithNode = PrepareRequest & { readonly node: ContainerNodeFacts };

/** Limit for files of fileKeyRef, which are read at every start. */
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
    const file = await createMessageFile(messagesDirectory(deps.dataDirectory, uid, container.name));
    mounts.push(fileMount(container.terminationMessagePath, file, selinux));
  }
  return mounts;
}

async function hostsContent(pod: Pod, podIps: readonly string[], clusterDomain: string): Promise<string> {
  const aliases = pod.spec?.hostAliases;
  if (pod.spec?.hostNetwork) return renderNodeHosts(await readFile("/etc/hosts", "utf8"), aliases);
  return renderHosts({ ...podHostname(pod, clusterDomain), podIps, aliases });
}

interface ConfigRequest extends Attempt {
  readonly pod: Pod;
  readonly container: Container;
  /** Image reference of the runtime. */
  readonly imageRef: string;
  readonly environment: Environment;
  readonly mounts: Mount[];
  readonly linux: LinuxContainerConfig;
}

export function buildContainerConfig(request: ConfigRequest): ContainerConfig {
  const { pod, container, attempt, imageRef, environment, mounts, linux } = request;
  const expand = createExpand();
  const expandAll = (words: readonly string[] = []) =>
    words.map((word) => expand(word, (name) => environment.get(name)?.toString()));
  return {
    metadata: { name: container.name, attempt },
    image: ImageSpec.fromPartial({ image: imageRef, userSpecifiedImage: container.image ?? "" }),
    command: expandAll(container.command),
    args: expandAll(container.args),
    workingDir: container.workingDir ?? "",
    envs: [...environment].map(([key, value]) => ({ key, value })),
    mounts,
    devices: [],
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, request),
    logPath: containerLogPath(container.name, attempt),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux,
    CDIDevices: [],
    stopSignal: stopSignal(container.lifecycle?.stopSignal),
  };
}

const signals = new Map<string, Signal>(Object.entries(Signal));

/** `SIGRTMIN+3` is SIGNAL_SIGRTMINPLUS3. */
function stopSignal(name: string | undefined): Signal {
  if (name === undefined) return Signal.SIGNAL_RUNTIME_DEFAULT;
  const signal = signals.get(`SIGNAL_${name.replace("+", "PLUS").replace("-", "MINUS")}`);
  if (signal === undefined) throw configError(`lifecycle.stopSignal: ${name} is not a signal`);
  return signal;
}
