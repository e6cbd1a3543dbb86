import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { applyFsGroup } from "./fs-group.ts";
import { unless } from "./held-directory.ts";
import { memoryVolumeBytes } from "./memory-size.ts";
import type { MountedVolume } from "./pod-volumes.ts";
import { markerDirectory, type VolumeDeps, type VolumeRequest, volumeDirectory } from "./volume-request.ts";

const openToAll = 0o777;

/**
 * An empty directory, on the disk or in memory. What it was made with is its containers' to change: once it stands, a
 * marker on the disk keeps a kubelet that starts again from setting modes and groups a second time.
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
    if (failed > 0) deps.logger.warn("fsGroup could not be set", { volume: volume.name, gid, failed });
  }
  await mkdir(marker, { recursive: true, mode: 0o750 });
  await writeFile(join(marker, "ready"), "");
  return mounted;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(unless("ENOENT"))) !== undefined;
}
