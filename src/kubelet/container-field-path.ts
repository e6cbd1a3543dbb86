import type { Pod } from "../api/objects.ts";

/** How events name a container: `spec.containers{web}`. */
export function containerFieldPath(pod: Pod, name: string): string {
  const isInit = pod.spec?.initContainers?.some((container) => container.name === name);
  return `spec.${isInit ? "initContainers" : "containers"}{${name}}`;
}
