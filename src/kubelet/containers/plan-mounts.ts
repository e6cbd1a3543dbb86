import { posix } from "node:path";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { Mount, MountPropagation } from "../../cri/generated/cri.ts";
import { createExpand } from "../model/expand.ts";
import { absolutePath } from "../model/pod-paths.ts";
import { configError } from "../model/start-error.ts";
import type { MountedVolumes } from "../volumes/pod-volumes.ts";
import type { MountedVolume } from "../volumes/volume-request.ts";
import type { Environment } from "./resolve-environment.ts";

export interface MountRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly volumes: MountedVolumes;
  readonly environment: Environment;
  /** Directory of the pod; only volumes below it may be relabelled. */
  readonly podDirectory: string;
  readonly selinux: boolean;
  /** Whether the runtime supports recursive read-only mounts. */
  readonly recursiveReadOnly: boolean;
  /** See PodVolumes.resolveSubPath. */
  readonly resolveSubPath: (volume: MountedVolume, subPath: string) => Promise<string>;
}

type VolumeMount = NonNullable<Container["volumeMounts"]>[number];

const hostsPath = "/etc/hosts";

/** Converts the container's volume mounts to CRI mounts in the order of its spec. Throws CreateContainerConfigError. */
export async function planMounts(request: MountRequest): Promise<Mount[]> {
  const { container, volumes } = request;
  const [device] = container.volumeDevices ?? [];
  if (device) throw configError(notFound(device.name, `pass into container "${container.name}"`));
  return Promise.all(
    (container.volumeMounts ?? []).map((mount) => {
      const volume = volumes.get(mount.name);
      if (!volume) throw configError(notFound(mount.name, `mount into container "${container.name}"`));
      return planMount(mount, volume, request);
    }),
  );
}

function notFound(volumeName: string, purpose: string): string {
  return `cannot find volume "${volumeName}" to ${purpose}`;
}

async function planMount(mount: VolumeMount, volume: MountedVolume, request: MountRequest): Promise<Mount> {
  const subPath = subPathOf(mount, request.environment);
  return Mount.fromPartial({
    containerPath: absolutePath(mount.mountPath),
    hostPath: subPath ? await hostPathOf(subPath, mount, volume, request) : volume.hostPath,
    readonly: mount.readOnly || volume.readOnly,
    recursiveReadOnly: isRecursive(mount, request.recursiveReadOnly),
    propagation: propagationOf(mount.mountPropagation),
    selinuxRelabel: request.selinux && isBelow(request.podDirectory, volume.hostPath),
  });
}

function subPathOf({ subPath, subPathExpr }: VolumeMount, environment: Environment): string {
  const path = subPathExpr ? expandSubPath(subPathExpr, environment) : (subPath ?? "");
  if (path.startsWith("/")) throw configError(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split("/").includes("..")) {
    throw configError(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  return path;
}

/**
 * Expands a subPathExpr. Unlike elsewhere, unknown variables are errors, because they would end up in a directory name.
 */
function expandSubPath(expression: string, environment: Environment): string {
  const missing = new Set<string>();
  const path = createExpand()(expression, (name) => {
    const value = environment.get(name)?.toString();
    if (!value) missing.add(name);
    return value;
  });
  if (missing.size > 0) throw configError(`missing value for ${[...missing].sort().join(", ")}`);
  return path;
}

async function hostPathOf(
  subPath: string,
  mount: VolumeMount,
  volume: MountedVolume,
  { container, resolveSubPath }: MountRequest,
): Promise<string> {
  try {
    return await resolveSubPath(volume, subPath);
  } catch (error) {
    // The cause is left out of the message, because it would expose details of the node's file system.
    const where = `volumeMount "${mount.name}" of container "${container.name}"`;
    throw configError(`failed to prepare subPath for ${where}`, { cause: error });
  }
}

function isRecursive(mount: VolumeMount, supported: boolean): boolean {
  const { name, recursiveReadOnly: mode = "Disabled", mountPropagation: propagation = "None" } = mount;
  if (mode === "Disabled") return false;
  const asked = `failed to resolve recursive read-only mode: volume "${name}" requested recursive read-only mode`;
  if (!mount.readOnly) throw configError(`${asked}, but it is not read-only`);
  if (propagation !== "None") {
    throw configError(`${asked}, but it is not compatible with propagation "${propagation}"`);
  }
  if (mode === "IfPossible" || supported) return supported;
  throw configError(`${asked}, but it is not supported by the runtime`);
}

function propagationOf(mode = "None"): MountPropagation {
  switch (mode) {
    case "None":
      return MountPropagation.PROPAGATION_PRIVATE;
    case "HostToContainer":
      return MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
    case "Bidirectional":
      return MountPropagation.PROPAGATION_BIDIRECTIONAL;
    default:
      throw configError(`invalid MountPropagation mode: "${mode}"`);
  }
}

/** Whether the kubelet mounts /etc/hosts: the pod has an address and the container mounts nothing else there. */
export function wantsHostsFile(
  { spec }: Pod,
  { volumeMounts = [] }: Container,
  podIps: readonly string[],
): boolean {
  const hasOwn = volumeMounts.some(({ mountPath }) => posix.normalize(absolutePath(mountPath)) === hostsPath);
  return !hasOwn && (podIps.length > 0 || spec?.hostNetwork === true);
}

/** Mount of a file that the kubelet has created. */
export function fileMount(containerPath: string, hostPath: string, selinuxRelabel: boolean): Mount {
  return Mount.fromPartial({ containerPath: absolutePath(containerPath), hostPath, selinuxRelabel });
}

export function hostsMount(hostPath: string, selinuxRelabel: boolean): Mount {
  return fileMount(hostsPath, hostPath, selinuxRelabel);
}

function isBelow(directory: string, path: string): boolean {
  return path.startsWith(`${directory}/`);
}
