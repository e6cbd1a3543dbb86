import { chmod, mkdir } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Pod } from "../../api/meta/objects.ts";
import { allContainersOf } from "../../api/pod/pod-containers.ts";
import { hasContent, writeAtomically } from "./atomic-write.ts";
import { applyFsGroup } from "./fs-group.ts";
import { memoryVolumeBytes } from "./local-directories.ts";
import type { Payload } from "./payload.ts";
import type { MountedVolume, VolumeDeps, VolumeRequest } from "./volume-request.ts";

export interface ContentVolume {
  readonly directory: string;
  /** True for secrets and tokens, which are stored in tmpfs if the kubelet can mount it. */
  readonly inMemory: boolean;
  /** Payload, which may still be loading while the directory is created. */
  readonly payload: Promise<Payload>;
}

/** Sets up a volume whose files come from the API. Idempotent for the same payload. */
export async function setUpContent(
  deps: VolumeDeps,
  request: VolumeRequest,
  content: ContentVolume,
): Promise<MountedVolume> {
  const { pod, volume } = request;
  const { directory } = content;
  // Waits for both, because the caller may remove the directory after a failure.
  const [made, payload] = await Promise.allSettled([makeDirectory(deps, request, content), content.payload]);
  if (payload.status === "rejected") throw payload.reason;
  if (made.status === "rejected") throw made.reason;

  const gid = pod.spec?.securityContext?.fsGroup;
  await writeAtomically(directory, payload.value, {
    now: deps.clock.now(),
    // Applies to the whole directory, which also belongs to the group.
    setPermissions: async () => {
      if (gid === undefined) return;
      const failed = await applyFsGroup(directory, { gid, readOnly: true });
      if (failed > 0) deps.logger.warn("failed to set fsGroup", { volume: volume.name, gid, failed });
    },
  });
  return { hostPath: directory, readOnly: true };
}

async function makeDirectory(
  deps: VolumeDeps,
  { pod, volume }: VolumeRequest,
  { directory, inMemory }: ContentVolume,
): Promise<void> {
  // A new directory is empty and not a mount point.
  const isNew = (await mkdir(directory, { recursive: true, mode: 0o750 })) !== undefined;
  const sizeBytes = memoryVolumeBytes({ pod, allocatable: deps.node().allocatable.memory });
  const stands = async () =>
    !isNew && ((inMemory && (await deps.mounter.isMountPoint(directory))) || (await hasContent(directory)));
  // A mount over existing content would hide later changes from running containers.
  if (!(await stands())) {
    await chmod(directory, 0o777);
    if (inMemory) await mountMemory(deps, directory, sizeBytes);
  }
  for (const path of nestedMountPoints(pod, volume.name)) {
    await mkdir(join(directory, path), { recursive: true, mode: 0o755 });
  }
}

async function mountMemory(
  deps: VolumeDeps,
  directory: string,
  sizeBytes: number | undefined,
): Promise<void> {
  try {
    await deps.mounter.mountTmpfs(directory, { sizeBytes });
  } catch (error) {
    deps.logger.warn("cannot mount tmpfs; secrets are stored on disk", { error });
  }
}

/**
 * Returns the directories that a volume needs because containers mount other volumes inside it. The runtime cannot create
 * them later, because the volume is read-only. For `/etc/app/tls` and `/etc/app/tls/ca` in `/etc/app`, only the first.
 */
export function nestedMountPoints(pod: Pod, volumeName: string): string[] {
  const nested = new Set<string>();
  for (const { volumeMounts = [] } of allContainersOf(pod.spec)) {
    const points = volumeMounts.map((mount) => posix.normalize(mount.mountPath).replace(/\/+$/, "")).sort();
    for (const mount of volumeMounts) {
      if (mount.name !== volumeName) continue;
      const point = posix.normalize(mount.mountPath).replace(/\/+$/, "");
      if (point.startsWith("..")) throw new Error(`invalid container mount point ${point}`);
      for (const path of outermostBelow(points, point)) nested.add(path);
    }
  }
  return [...nested];
}

function outermostBelow(points: readonly string[], directory: string): string[] {
  const found: string[] = [];
  for (const point of points) {
    if (!point.startsWith(`${directory}/`)) continue;
    const path = point.slice(directory.length + 1);
    if (!found.some((outer) => path === outer || path.startsWith(`${outer}/`))) found.push(path);
  }
  return found;
}
