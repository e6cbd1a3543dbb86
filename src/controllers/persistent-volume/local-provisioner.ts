import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/meta/objects.ts";
import {
  boundByControllerAnnotation,
  claimRefOf,
  classOf,
  selectedNodeAnnotation,
  volumeModeOf,
} from "../../api/pod/volume-binding.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Informer } from "../../client/informers/informer.ts";
import { isAlreadyExists } from "../../client/transport/status-errors.ts";
import { volumeProtection } from "./protection.ts";
import {
  annotationOf,
  localProvisioner,
  provisionedByAnnotation,
  withoutAnnotation,
} from "./storage-objects.ts";

export interface LocalProvisioner {
  /** Creates a volume for the claim, or records an event with the reason why not. */
  provision(request: {
    claim: PersistentVolumeClaim;
    storageClass: StorageClass;
    signal: AbortSignal;
  }): Promise<void>;
  /** Removes the data of a volume. Idempotent. */
  removeData(volume: PersistentVolume): Promise<void>;
}

interface LocalProvisionerDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly nodes: Informer<Node>;
  readonly volumes: Informer<PersistentVolume>;
  /** Parent directory of the volumes, on the machine that runs all nodes. */
  readonly directory: string;
}

export function createLocalProvisioner(deps: LocalProvisionerDeps): LocalProvisioner {
  const { client, recorder, nodes, volumes, directory } = deps;

  /** The node selected by the scheduler; without one, the only node of the cluster. */
  function chooseNode(claim: PersistentVolumeClaim): Node | { readonly problem: string } {
    const selected = annotationOf(claim, selectedNodeAnnotation);
    if (selected !== undefined) {
      return nodes.get(selected) ?? { problem: `Failed to get target node: node "${selected}" not found` };
    }
    const [first, second] = nodes.list();
    if (first && !second) return first;
    return {
      problem: `${localProvisioner} needs to know the node: set volumeBindingMode of the StorageClass to WaitForFirstConsumer`,
    };
  }

  async function reject(claim: PersistentVolumeClaim, message: string, signal: AbortSignal): Promise<void> {
    recorder.record(claim, { type: "Warning", reason: "ProvisioningFailed", message });
    if (annotationOf(claim, selectedNodeAnnotation) === undefined) return;
    // Lets the scheduler select another node.
    await client.update("persistentvolumeclaims", withoutAnnotation(claim, selectedNodeAnnotation), {
      signal,
    });
  }

  return {
    async provision({ claim, storageClass, signal }) {
      if (volumes.get(provisionedName(claim))) return;
      const node = chooseNode(claim);
      const problem =
        localVolumeProblem(claim, storageClass) ?? ("problem" in node ? node.problem : undefined);
      if (problem !== undefined || "problem" in node) {
        const message = `Failed to provision volume with StorageClass "${storageClass.metadata.name}": ${problem}`;
        return reject(claim, message, signal);
      }
      const volume = makeLocalVolume({ claim, storageClass, node, directory });
      await makeDirectory(directory, volume.spec?.hostPath?.path ?? "");
      try {
        await client.create("persistentvolumes", volume, { signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      const message = `Successfully provisioned volume ${volume.metadata.name} using ${localProvisioner}`;
      recorder.record(claim, { type: "Normal", reason: "ProvisioningSucceeded", message });
    },
    async removeData(volume) {
      const own = ownDirectoryOf(volume, directory);
      if (!own) {
        const { path } = volume.spec?.hostPath ?? {};
        throw new Error(
          `spec.hostPath.path "${path}" is not a directory that ${localProvisioner} has created`,
        );
      }
      await rm(own, { recursive: true, force: true });
    },
  };
}

/** Containers run as any user, so the directory is writable for all; its parent denies access to other users of the machine. */
async function makeDirectory(parent: string, path: string): Promise<void> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await mkdir(path, { recursive: true });
  await chmod(path, 0o777);
}

/** Finalizer that keeps a volume's object until its data is removed. */
export const localFinalizer = "kindling.dev/local-volume";
const hostnameLabel = "kubernetes.io/hostname";

export interface LocalRequest {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly node: Node;
  /** Parent directory of all volumes. */
  readonly directory: string;
}

/** Why a local volume cannot satisfy a claim. Undefined if it can. */
export function localVolumeProblem(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
): string | undefined {
  const { selector, dataSource, dataSourceRef, accessModes = [] } = claim.spec ?? {};
  if (volumeModeOf(claim) !== "Filesystem") return `${localProvisioner} only supports volumeMode Filesystem`;
  if (selector) return "spec.selector of the claim is not supported by the provisioner";
  if (dataSource ?? dataSourceRef) return "spec.dataSource of the claim is not supported by the provisioner";
  if (accessModes.some((mode) => mode !== "ReadWriteOnce" && mode !== "ReadWriteOncePod")) {
    return `${localProvisioner} only supports the access modes ReadWriteOnce and ReadWriteOncePod`;
  }
  if (storageClass.mountOptions?.length) {
    return `Mount options are not supported by the provisioner but StorageClass "${storageClass.metadata.name}" has mount options [${storageClass.mountOptions.join(" ")}]`;
  }
  return undefined;
}

function provisionedName({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

/** Volume that is a directory on one node, bound to a claim. */
export function makeLocalVolume({ claim, storageClass, node, directory }: LocalRequest): PersistentVolume {
  const volumeName = provisionedName(claim);
  const { [hostnameLabel]: hostname = node.metadata.name ?? "" } = node.metadata.labels ?? {};
  const reclaimPolicy = storageClass.reclaimPolicy ?? "Delete";
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: volumeName,
      annotations: {
        [provisionedByAnnotation]: localProvisioner,
        [boundByControllerAnnotation]: "yes",
      },
      finalizers: [volumeProtection, ...(reclaimPolicy === "Delete" ? [localFinalizer] : [])],
    },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.storage ?? "0" },
      accessModes: claim.spec?.accessModes,
      volumeMode: "Filesystem",
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: classOf(claim),
      claimRef: claimRefOf(claim),
      hostPath: { path: join(directory, volumeName), type: "DirectoryOrCreate" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: hostnameLabel, operator: "In", values: [hostname] }] },
          ],
        },
      },
    },
  };
}

/**
 * Directory of a volume that was provisioned here. Undefined for any other path: permission to write volumes must not
 * allow the removal of arbitrary files.
 */
export function ownDirectoryOf({ metadata, spec }: PersistentVolume, directory: string): string | undefined {
  const { name = "" } = metadata;
  const own = join(directory, name);
  return /^pvc-[0-9a-f-]+$/.test(name) && spec?.hostPath?.path === own ? own : undefined;
}
