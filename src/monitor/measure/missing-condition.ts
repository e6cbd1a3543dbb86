import { isMirrorPod } from "../../api/mirror-pod.ts";
import type { Pod } from "../../api/objects.ts";
import type { Logger } from "../../lib/logger.ts";

/** Whether a pod is ready and its kubelet, which is older than 1.29 or was told not to, has never written the condition. */
export function lacksSandboxCondition({ status }: Pod): boolean {
  let isReady = false;
  for (const { type, status: is } of status?.conditions ?? []) {
    if (type === "PodReadyToStartContainers") return false;
    if (type === "Ready" && is === "True") isReady = true;
  }
  return isReady;
}

/** Says so of the first such pod, and then no more: the others have the same reason. */
export function createMissingConditionNotice(logger: Logger): (pod: Pod) => void {
  let isSaid = false;
  return (pod) => {
    if (isSaid || !lacksSandboxCondition(pod) || isMirrorPod(pod)) return;
    isSaid = true;
    const { namespace, name } = pod.metadata;
    logger.warn(
      "pods become ready without the condition PodReadyToStartContainers, so their sandboxes and containers are counted as unknown: their kubelets are older than 1.29, or the feature gate PodReadyToStartContainersCondition is off",
      { namespace, pod: name, node: pod.spec?.nodeName },
    );
  };
}
