import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { PersistentVolume } from "../../api/objects.ts";
import { allContainersOf } from "../../api/pod-containers.ts";
import type { Client } from "../../client/client.ts";
import { isNotedByAny, readClaimNote, writeClaimNote } from "./claim-note.ts";
import { findClaimedVolume } from "./find-claimed-volume.ts";
import { applyFsGroup } from "./fs-group.ts";
import { unless } from "./held-directory.ts";
import { prepareHostPath } from "./host-path.ts";
import { isReachableFrom } from "./is-reachable-from.ts";
import type { MountedVolume } from "./pod-volumes.ts";
import { mountFailure, VolumeProblem } from "./volume-problem.ts";
import type { VolumeDeps, VolumeRequest } from "./volume-request.ts";

type ClaimDeps = VolumeDeps & { readonly client: Client };

/**
 * The directory behind a claim. Containers get the directory itself and not, as upstream, a bind mount of it in the
 * pod's directory: then nothing that removes a pod's directory can ever come near the data. What the claim led to is
 * noted on the disk: from then on the pod's containers start without the API.
 */
export async function setUpClaim(deps: ClaimDeps, request: VolumeRequest): Promise<MountedVolume> {
  const { readOnly = false } = request.volume.persistentVolumeClaim ?? {};
  const noted = await readClaimNote(request);
  if (noted) return { hostPath: noted.hostPath, readOnly };

  const persistent = await findClaimedVolume(deps.client, request);
  const name = persistent.metadata.name ?? "";
  checkMode(request, persistent);
  if (!isReachableFrom(persistent, deps.node())) {
    throw new VolumeProblem(
      `MountVolume.NodeAffinity check failed for volume "${name}" : no matching NodeSelectorTerms`,
    );
  }
  if (persistent.spec?.mountOptions?.length) {
    throw new VolumeProblem(
      `MountVolume.MountOptionSupport check failed for volume "${name}" : ` +
        "mount options are not supported for this volume type",
    );
  }
  try {
    const hostPath = await preparePersistent(deps, request, persistent);
    await writeClaimNote(request, { persistentVolume: name, hostPath });
    return { hostPath, readOnly };
  } catch (error) {
    // Upstream names the persistent volume here, not the pod's name for it.
    throw new VolumeProblem(mountFailure(name, error), { cause: error });
  }
}

async function preparePersistent(
  { logger }: ClaimDeps,
  { pod, podDir, volume }: VolumeRequest,
  { metadata, spec }: PersistentVolume,
): Promise<string> {
  if (spec?.hostPath) return prepareHostPath(spec.hostPath);
  if (!spec?.local) throw new Error(`${sourceOf(spec)} volumes are not supported by this kubelet`);
  const { path } = spec.local;
  await checkLocal(path);
  const { fsGroup: gid, fsGroupChangePolicy } = pod.spec?.securityContext ?? {};
  if (gid === undefined || volume.persistentVolumeClaim?.readOnly) return path;
  // While another pod on the node has it, the volume keeps the group that the first one gave it.
  if (await isNotedByAny(dirname(podDir), metadata.name ?? "")) return path;
  const onRootMismatch = fsGroupChangePolicy === "OnRootMismatch";
  const failed = await applyFsGroup(path, { gid, readOnly: false, onRootMismatch });
  if (failed > 0) logger.warn("fsGroup could not be set", { volume: metadata.name, gid, failed });
  return path;
}

function checkMode({ pod, volume: { name } }: VolumeRequest, persistent: PersistentVolume): void {
  const mode = persistent.spec?.volumeMode ?? "Filesystem";
  const containers = allContainersOf(pod.spec);
  const mounted = containers.some((container) =>
    container.volumeMounts?.some((mount) => mount.name === name),
  );
  const field = mounted ? "volumeMounts" : "volumeDevices";
  if (mounted !== (mode === "Filesystem")) {
    throw new VolumeProblem(`volume ${name} has volumeMode ${mode}, but is specified in ${field}`);
  }
  if (!mounted) throw new Error("volumeDevices are not supported by this kubelet: use volumeMounts");
}

async function checkLocal(path: string): Promise<void> {
  if (!path) throw new Error("local volume source is nil or local path is not set");
  if (path.split("/").includes("..")) throw new Error(`invalid path: ${path} must not contain '..'`);
  const found = await stat(path).catch(unless<Stats>("ENOENT"));
  if (!found) throw new Error(`path "${path}" does not exist`);
  if (!found.isDirectory()) {
    throw new Error(
      `local.path "${path}" is not a directory, and this kubelet formats no devices: mount it first`,
    );
  }
}

/** What a persistent volume's spec has whatever it stands on. */
const commonFields = new Set([
  "accessModes",
  "capacity",
  "claimRef",
  "mountOptions",
  "nodeAffinity",
  "persistentVolumeReclaimPolicy",
  "storageClassName",
  "volumeAttributesClassName",
  "volumeMode",
]);

function sourceOf(spec: PersistentVolume["spec"]): string {
  return Object.keys(spec ?? {}).find((field) => !commonFields.has(field)) ?? "empty";
}
