import type { Pod } from "../api/objects.ts";

export interface ObjectReference {
  readonly resource: "configmaps" | "secrets";
  readonly namespace: string;
  readonly name: string;
}

/** Every config map and secret that a pod names: in volumes, in the environment of its containers, for its images. */
export function objectReferences(pod: Pod): ObjectReference[] {
  const found = new Map<string, ObjectReference>();
  const namespace = pod.metadata.namespace ?? "";
  const add = (resource: ObjectReference["resource"], name: string | undefined) => {
    if (name) found.set(`${resource}/${name}`, { resource, namespace, name });
  };
  const { volumes = [], imagePullSecrets = [] } = pod.spec ?? {};
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};

  for (const { configMap, secret, projected } of volumes) {
    add("configmaps", configMap?.name);
    add("secrets", secret?.secretName);
    for (const source of projected?.sources ?? []) {
      add("configmaps", source.configMap?.name);
      add("secrets", source.secret?.name);
    }
  }
  for (const { env = [], envFrom = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { valueFrom } of env) {
      add("configmaps", valueFrom?.configMapKeyRef?.name);
      add("secrets", valueFrom?.secretKeyRef?.name);
    }
    for (const { configMapRef, secretRef } of envFrom) {
      add("configmaps", configMapRef?.name);
      add("secrets", secretRef?.name);
    }
  }
  for (const { name } of imagePullSecrets) add("secrets", name);
  return [...found.values()];
}
