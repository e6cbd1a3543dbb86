import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/meta/objects.ts";
import { bindCompletedAnnotation } from "../../api/pod/volume-binding.ts";

type ClaimSpec = NonNullable<PersistentVolumeClaim["spec"]>;
type VolumeSpec = NonNullable<PersistentVolume["spec"]>;

export function makeClaim(
  spec: Partial<ClaimSpec> = {},
  metadata: Partial<PersistentVolumeClaim["metadata"]> = {},
): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace: "default", uid: "c1a1", ...metadata },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "",
      ...spec,
    },
    status: { phase: "Pending" },
  };
}

export function makeBoundClaim(volumeName: string | undefined): PersistentVolumeClaim {
  return makeClaim({ volumeName }, { annotations: { [bindCompletedAnnotation]: "yes" } });
}

export function makeVolume(
  name: string,
  spec: Partial<VolumeSpec> = {},
  metadata: Partial<PersistentVolume["metadata"]> = {},
): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, uid: name, ...metadata },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path: `/${name}` },
      ...spec,
    },
    status: { phase: "Available" },
  };
}

/** Binding to the claim of `makeClaim`. */
export const heldForData = { claimRef: { namespace: "default", name: "data", uid: "c1a1" } };

export function makeClass(name: string, parts: Partial<StorageClass> = {}): StorageClass {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: "example.com/disks",
    volumeBindingMode: "Immediate",
    ...parts,
  };
}
