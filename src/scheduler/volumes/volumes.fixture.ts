import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/meta/objects.ts";

type Parts<T extends { metadata: object; spec?: object; status?: object }> = NonNullable<T["spec"]> & {
  metadata?: Partial<T["metadata"]>;
  status?: T["status"];
};

export function makeClaim(
  name: string,
  parts: Partial<Parts<PersistentVolumeClaim>> = {},
): PersistentVolumeClaim {
  const { metadata, status, ...spec } = parts;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1", ...metadata },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "late",
      resources: { requests: { storage: "1Gi" } },
      ...spec,
    },
    status,
  };
}

export function makeBoundClaim(name: string, volumeName: string): PersistentVolumeClaim {
  return makeClaim(name, {
    volumeName,
    metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
  });
}

export function makeVolume(name: string, parts: Partial<Parts<PersistentVolume>> = {}): PersistentVolume {
  const { metadata, status = { phase: "Available" }, ...spec } = parts;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, resourceVersion: "1", ...metadata },
    spec: { accessModes: ["ReadWriteOnce"], storageClassName: "late", capacity: { storage: "1Gi" }, ...spec },
    status,
  };
}

export function onNode(name: string): Pick<NonNullable<PersistentVolume["spec"]>, "nodeAffinity"> {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }];
  return { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } };
}

export function makeClass(name: string, parts: Partial<StorageClass> = {}): StorageClass {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: "example.com/disk",
    volumeBindingMode: "WaitForFirstConsumer",
    ...parts,
  };
}
