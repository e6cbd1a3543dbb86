import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { hasContent, writeAtomically } from "./atomic-write.ts";
import { applyFsGroup } from "./fs-group.ts";
import { memoryVolumeBytes } from "./memory-size.ts";
import { nestedMountPoints } from "./nested-mount-points.ts";
import type { Payload } from "./payload.ts";
import type { MountedVolume } from "./pod-volumes.ts";
import type { VolumeDeps, VolumeRequest } from "./volume-request.ts";

export interface ContentVolume {
  readonly directory: string;
  /** Never on a disk, where the kubelet may mount: secrets and tokens. */
  readonly inMemory: boolean;
  /** May still be on its way from the API: the directory is made meanwhile. */
  readonly payload: Promise<Payload>;
}

/** A volume whose files come from the API. The same payload again changes nothing. */
export async function setUpContent(
  deps: VolumeDeps,
  request: VolumeRequest,
  content: ContentVolume,
): Promise<MountedVolume> {
  const { pod, volume } = request;
  const { directory } = content;
  // Neither goes on alone when the other has failed: whoever is told so may remove the directory.
  const [made, payload] = await Promise.allSettled([makeDirectory(deps, request, content), content.payload]);
  if (payload.status === "rejected") throw payload.reason;
  if (made.status === "rejected") throw made.reason;

  const gid = pod.spec?.securityContext?.fsGroup;
  await writeAtomically(directory, payload.value, {
    now: deps.clock.now(),
    // Of all that is there: the directory itself belongs to the group too.
    setPermissions: async () => {
      if (gid === undefined) return;
      const failed = await applyFsGroup(directory, { gid, readOnly: true });
      if (failed > 0) deps.logger.warn("fsGroup could not be set", { volume: volume.name, gid, failed });
    },
  });
  return { hostPath: directory, readOnly: true };
}

async function makeDirectory(
  deps: VolumeDeps,
  { pod, volume }: VolumeRequest,
  { directory, inMemory }: ContentVolume,
): Promise<void> {
  // What was made just now has nothing in it and nothing on it.
  const isNew = (await mkdir(directory, { recursive: true, mode: 0o750 })) !== undefined;
  const sizeBytes = memoryVolumeBytes({ pod, allocatable: deps.node().allocatable.memory });
  const stands = async () =>
    !isNew && ((inMemory && (await deps.mounter.isMountPoint(directory))) || (await hasContent(directory)));
  // A mount over a directory that has content would hide from its containers every later change.
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
    deps.logger.warn("secrets are kept on the disk: tmpfs cannot be mounted", { error });
  }
}
