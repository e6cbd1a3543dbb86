import { join } from "node:path";
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/objects.ts";
import { boundByControllerAnnotation, claimRefOf, classOf, volumeModeOf } from "../../api/volume-binding.ts";
import { localProvisioner } from "./default-class.ts";
import { volumeProtection } from "./protection.ts";
import { provisionedByAnnotation } from "./volume-facts.ts";

/** Keeps a volume's object until its data is gone. */
export const localFinalizer = "kindling.dev/local-volume";
const hostnameLabel = "kubernetes.io/hostname";

export interface LocalRequest {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly node: Node;
  /** Under which every volume has a directory of its own. */
  readonly directory: string;
}

/** Why a directory on a node is not what a claim wants. */
export function whyNotLocal(claim: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
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

export function provisionedName({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

/** A volume that is a directory on one node, held for a claim. */
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
 * The directory of a volume that was made here. Undefined for any other path: whoever may write volumes must not be able
 * to have somebody's files removed.
 */
export function ownDirectoryOf({ metadata, spec }: PersistentVolume, directory: string): string | undefined {
  const { name = "" } = metadata;
  const own = join(directory, name);
  return /^pvc-[0-9a-f-]+$/.test(name) && spec?.hostPath?.path === own ? own : undefined;
}
