import type { Pod } from "../../api/meta/objects.ts";

/** Formats a pod as upstream's messages do: `web_default(8c1f…)`. */
export function describePod({ metadata }: Pod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
}

/** Field path that events use for a container: `spec.containers{web}`. */
export function containerFieldPath(pod: Pod, name: string): string {
  const isInit = pod.spec?.initContainers?.some((container) => container.name === name);
  return `spec.${isInit ? "initContainers" : "containers"}{${name}}`;
}

/** Container id of the runtime, without the scheme of a container status (`containerd://id`). */
export function runtimeContainerId(containerId: string): string {
  return containerId.replace(/^[^/]*:\/\//, "");
}

/** Upstream's annotations for the source of a pod and the hash of its manifest. */
export const sourceAnnotation = "kubernetes.io/config.source";
export const hashAnnotation = "kubernetes.io/config.hash";

/** Whether the pod comes from a manifest file on the node. Such pods run without an API server. */
export function isStaticPod({ metadata }: Pod): boolean {
  const source = metadata.annotations?.[sourceAnnotation];
  return source !== undefined && source !== "api";
}
