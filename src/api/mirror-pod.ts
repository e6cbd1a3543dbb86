import type { KubeObject } from "./objects.ts";

/** On a mirror pod: of which static pod it is the picture. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/** Whether a pod in the API only shows what a file on a node makes run: its kubelet started it before the API knew of it. */
export function isMirrorPod({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[mirrorAnnotation] !== undefined;
}
