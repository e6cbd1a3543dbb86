import type { Stats } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PersistentVolume, PersistentVolumeClaim } from "../../api/meta/objects.ts";
import { matcherOfSelector } from "../../api/pod/node-matcher.ts";
import { allContainersOf } from "../../api/pod/pod-containers.ts";
import type { Client } from "../../client/api/client.ts";
import { messageOf } from "../../lib/message-of.ts";
import { applyFsGroup } from "./fs-group.ts";
import { unless } from "./held-directory.ts";
import { prepareHostPath } from "./local-directories.ts";
import {
  type MountedVolume,
  markerDirectory,
  mountFailure,
  type VolumeDeps,
  type VolumeNodeFacts,
  VolumeProblem,
  type VolumeRequest,
} from "./volume-request.ts";

type ClaimDeps = VolumeDeps & { readonly client: Client };

/**
 * Sets up the directory of a claim. Unlike upstream, containers get the directory itself instead of a bind mount in the
 * pod's directory, so that removing a pod's directory can never remove the data. The result is recorded on disk, so that
 * the pod's containers can start later without the API server.
 */
export async function setUpClaim(deps: ClaimDeps, request: VolumeRequest): Promise<MountedVolume> {
  const { readOnly = false } = request.volume.persistentVolumeClaim ?? {};
  const noted = await readClaimRecord(request);
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
    await writeClaimRecord(request, { persistentVolume: name, hostPath });
    return { hostPath, readOnly };
  } catch (error) {
    // As upstream, the message names the PersistentVolume, not the pod's volume.
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
  // While another pod on the node uses the volume, it keeps the group of the first pod.
  if (await isRecordedByAnyPod(dirname(podDir), metadata.name ?? "")) return path;
  const onRootMismatch = fsGroupChangePolicy === "OnRootMismatch";
  const failed = await applyFsGroup(path, { gid, readOnly: false, onRootMismatch });
  if (failed > 0) logger.warn("failed to set fsGroup", { volume: metadata.name, gid, failed });
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

/** Fields of a PersistentVolume's spec that are not volume sources. */
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

/** Returns the PersistentVolume that a pod's claim is bound to. */
async function findClaimedVolume(
  client: Client,
  { pod, volume, signal }: VolumeRequest,
): Promise<PersistentVolume> {
  const { namespace = "" } = pod.metadata;
  const { claimName = "" } = volume.persistentVolumeClaim ?? {};
  try {
    const claim = await client
      .get("persistentvolumeclaims", { namespace, name: claimName }, { signal })
      .catch(because("failed to fetch PVC from API server"));
    const name = boundVolume(claim);
    const persistent = await client
      .get("persistentvolumes", { name }, { signal })
      .catch(because(`failed to fetch PV ${name} from API server`));
    checkBinding(persistent, claim);
    return persistent;
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error);
    const { name } = volume;
    throw new VolumeProblem(
      `Unable to attach or mount volumes: unmounted volumes=[${name}], unattached volumes=[], ` +
        `failed to process volumes=[${name}]: error processing PVC ${namespace}/${claimName}: ${why}`,
      { cause: error },
    );
  }
}

/** Throws if the claim cannot be used. */
function boundVolume(claim: PersistentVolumeClaim): string {
  const { deletionTimestamp, finalizers = [] } = claim.metadata;
  if (deletionTimestamp && !finalizers.includes("kubernetes.io/pvc-protection")) {
    throw new Error("PVC is being deleted");
  }
  if (claim.status?.phase !== "Bound") throw new Error("PVC is not bound");
  if (!claim.spec?.volumeName) throw new Error("PVC has empty pvc.Spec.VolumeName");
  return claim.spec.volumeName;
}

/** Throws if the volume is not bound to the claim. */
function checkBinding(persistent: PersistentVolume, claim: PersistentVolumeClaim): void {
  const found = `found PV object ${persistent.metadata.name} but`;
  const { claimRef } = persistent.spec ?? {};
  if (!claimRef) {
    throw new Error(`${found} it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`);
  }
  if (claimRef.uid !== claim.metadata.uid) {
    const uids = `${claimRef.uid ?? ""} does not point to claim.UID ${claim.metadata.uid}`;
    throw new Error(`${found} its pv.Spec.ClaimRef.UID ${uids}`);
  }
}

function because(what: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  };
}

/** Returns whether a PersistentVolume's node affinity matches the node. */
export function isReachableFrom(
  volume: PersistentVolume,
  node: Pick<VolumeNodeFacts, "name" | "labels">,
): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return !required || matcherOfSelector(required)(node);
}

/** Record of a pod's resolved claim. */
interface ClaimRecord {
  readonly persistentVolume: string;
  readonly hostPath: string;
}

const kind = "persistent-volume";

/** Reads the record. Undefined if it is missing or incomplete after a crash; the claim is then resolved again. */
function readClaimRecord({ podDir, volume }: VolumeRequest): Promise<ClaimRecord | undefined> {
  return readRecord(recordFile(podDir, volume.name));
}

async function writeClaimRecord({ podDir, volume }: VolumeRequest, note: ClaimRecord): Promise<void> {
  const file = recordFile(podDir, volume.name);
  await mkdir(dirname(file), { recursive: true, mode: 0o750 });
  await writeFile(file, JSON.stringify(note));
}

/** Returns whether any pod on the node uses the PersistentVolume. */
async function isRecordedByAnyPod(podsDir: string, persistentVolume: string): Promise<boolean> {
  for (const pod of await readdir(podsDir, { withFileTypes: true })) {
    if (!pod.isDirectory()) continue;
    const directory = join(podsDir, pod.name, "plugins", `kubernetes.io~${kind}`);
    for (const name of (await readdir(directory).catch(unless<string[]>("ENOENT"))) ?? []) {
      const note = await readRecord(join(directory, name, "claim.json"));
      if (note?.persistentVolume === persistentVolume) return true;
    }
  }
  return false;
}

function recordFile(podDir: string, volumeName: string): string {
  return join(markerDirectory(podDir, kind, volumeName), "claim.json");
}

async function readRecord(file: string): Promise<ClaimRecord | undefined> {
  const text = await readFile(file, "utf8").catch(unless<string>("ENOENT"));
  if (text === undefined) return undefined;
  try {
    const { persistentVolume, hostPath }: Partial<Record<keyof ClaimRecord, unknown>> = JSON.parse(text);
    const isWhole = typeof persistentVolume === "string" && typeof hostPath === "string";
    return isWhole ? { persistentVolume, hostPath } : undefined;
  } catch {
    return undefined;
  }
}
