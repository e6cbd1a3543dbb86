import type { Pod } from "../../api/objects.ts";

/** Upstream's: where a pod comes from, and what of. */
export const sourceAnnotation = "kubernetes.io/config.source";
export const hashAnnotation = "kubernetes.io/config.hash";

/** Whether a pod comes from a file of its node: it runs whether or not there is an API server. */
export function isStaticPod({ metadata }: Pod): boolean {
  const source = metadata.annotations?.[sourceAnnotation];
  return source !== undefined && source !== "api";
}
