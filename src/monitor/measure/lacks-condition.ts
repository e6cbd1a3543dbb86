import type { Pod } from "../../api/objects.ts";

/** Whether a pod is ready and its kubelet, which is older than 1.29 or was told not to, has never written the condition. */
export function lacksSandboxCondition({ status }: Pod): boolean {
  let isReady = false;
  for (const { type, status: is } of status?.conditions ?? []) {
    if (type === "PodReadyToStartContainers") return false;
    if (type === "Ready" && is === "True") isReady = true;
  }
  return isReady;
}
