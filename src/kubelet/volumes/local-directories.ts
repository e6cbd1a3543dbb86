import { constants, type Stats } from "node:fs";
import { chmod, mkdir, open, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../api/meta/objects.ts";
import { parseQuantity, wholeUnits } from "../../api/meta/quantity.ts";
import { podLimit } from "../cgroups/pod-cgroup.ts";
import { applyFsGroup } from "./fs-group.ts";
import { errorCode, unless } from "./held-directory.ts";
import {
  type MountedVolume,
  markerDirectory,
  type VolumeDeps,
  type VolumeRequest,
  volumeDirectory,
} from "./volume-request.ts";

const openToAll = 0o777;

/**
 * Sets up an emptyDir volume on disk or in memory. Containers may change its mode and group, so a marker on disk prevents a
 * restarted kubelet from setting them again.
 */
export async function setUpEmptyDir(deps: VolumeDeps, request: VolumeRequest): Promise<MountedVolume> {
  const { pod, volume, podDir } = request;
  const { medium = "", sizeLimit } = volume.emptyDir ?? {};
  if (medium !== "" && medium !== "Memory") {
    throw new Error(`emptyDir.medium "${medium}" is not supported by this kubelet: use "" or "Memory"`);
  }
  const directory = volumeDirectory(podDir, "empty-dir", volume.name);
  const marker = markerDirectory(podDir, "empty-dir", volume.name);
  const mounted: MountedVolume = { hostPath: directory, readOnly: false };
  const inPlace = medium === "Memory" ? deps.mounter.isMountPoint(directory) : exists(directory);
  if ((await exists(join(marker, "ready"))) && (await inPlace)) return mounted;

  await mkdir(directory, { recursive: true, mode: 0o750 });
  await chmod(directory, openToAll);
  if (medium === "Memory" && !(await deps.mounter.isMountPoint(directory))) {
    const sizeBytes = memoryVolumeBytes({ pod, allocatable: deps.node().allocatable.memory, sizeLimit });
    await deps.mounter.mountTmpfs(directory, { sizeBytes }).catch((error: Error) => {
      throw new Error(`emptyDir.medium "Memory" needs a kubelet that may mount tmpfs: ${error.message}`);
    });
  }
  const gid = pod.spec?.securityContext?.fsGroup;
  if (gid !== undefined) {
    const failed = await applyFsGroup(directory, { gid, readOnly: false });
    if (failed > 0) deps.logger.warn("failed to set fsGroup", { volume: volume.name, gid, failed });
  }
  await mkdir(marker, { recursive: true, mode: 0o750 });
  await writeFile(join(marker, "ready"), "");
  return mounted;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(unless("ENOENT"))) !== undefined;
}

interface MemorySizeFacts {
  readonly pod: Pod;
  /** Allocatable memory of the node. Undefined if unknown. */
  readonly allocatable?: string;
  readonly sizeLimit?: string;
}

/** Returns the size limit of a memory volume: the minimum of its own limit, the pod's and the node's. */
export function memoryVolumeBytes({ pod, allocatable, sizeLimit }: MemorySizeFacts): number | undefined {
  const ofPod = podLimit(pod, "memory");
  const limits = [bytes(allocatable), ofPod ? wholeUnits(ofPod) : 0, bytes(sizeLimit)];
  const given = limits.filter((limit) => limit > 0);
  return given.length > 0 ? Math.min(...given) : undefined;
}

function bytes(quantity: string | undefined): number {
  return quantity === undefined ? 0 : wholeUnits(parseQuantity(quantity));
}

interface HostPathSource {
  readonly path: string;
  readonly type?: string;
}

const described = new Map([
  ["Directory", "directory"],
  ["File", "file"],
  ["Socket", "socket file"],
  ["CharDevice", "character device"],
  ["BlockDevice", "block device"],
]);

/** Checks a host path against the volume's type, and creates it if the type requires it. */
export async function prepareHostPath({ path, type = "" }: HostPathSource): Promise<string> {
  if (path.split("/").includes("..")) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (type === "") return path;

  const wanted = type.replace(/OrCreate$/, "");
  const description = described.get(wanted);
  const mayCreate = type === "DirectoryOrCreate" || type === "FileOrCreate";
  if (!description || (wanted !== type && !mayCreate)) throw new Error(`${type} is an invalid volume type`);

  const found = await typeOf(path);
  if (found.kind === "missing" && mayCreate) await create(path, wanted);
  else if (found.kind !== "type") {
    throw new Error(
      `hostPath type check failed, ${path} is not a ${description}, unable to determine its type: ${found.why}`,
    );
  } else if (found.type !== wanted) {
    throw new Error(`hostPath type check failed: ${path} is not a ${description}, it's a ${found.type}`);
  }
  return path;
}

type Found =
  | { readonly kind: "type"; readonly type: string }
  | { readonly kind: "missing" | "unknown"; readonly why: string };

async function typeOf(path: string): Promise<Found> {
  try {
    const type = fileType(await stat(path));
    if (type) return { kind: "type", type };
    return {
      kind: "unknown",
      why: "only recognise file, directory, socket, block device and character device",
    };
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? `path "${path}" does not exist` : String(error);
    return { kind: errorCode(error) === "ENOENT" ? "missing" : "unknown", why };
  }
}

function fileType(stats: Stats): string | undefined {
  if (stats.isSocket()) return "Socket";
  if (stats.isBlockDevice()) return "BlockDevice";
  if (stats.isCharacterDevice()) return "CharDevice";
  if (stats.isDirectory()) return "Directory";
  return stats.isFile() ? "File" : undefined;
}

async function create(path: string, type: string): Promise<void> {
  if (type === "Directory") {
    await mkdir(path, { recursive: true, mode: 0o755 });
  } else {
    // Exclusive, so that a dangling symbolic link is not followed.
    const file = await open(path, constants.O_CREAT | constants.O_NOFOLLOW | constants.O_RDONLY, 0o644);
    await file.close();
  }
}
