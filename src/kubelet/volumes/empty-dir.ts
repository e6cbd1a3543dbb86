import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../api/meta/objects.ts";
import { parseQuantity, wholeUnits } from "../../api/meta/quantity.ts";
import { podLimit } from "../cgroups/pod-cgroup.ts";
import { applyFsGroup } from "./fs-group.ts";
import { unless } from "./held-directory.ts";
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

export interface MemorySizeFacts {
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
