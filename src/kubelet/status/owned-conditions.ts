import type { Features } from "../../api/feature-gates.ts";

const always: ReadonlySet<string> = new Set(["Initialized", "Ready", "ContainersReady", "PodScheduled"]);

/**
 * Whether the kubelet writes a pod's condition of this type. What it does not write it leaves as it is, a condition
 * that a kubelet with another gate wrote too.
 */
export function isOwnedCondition(type: string, features: Features): boolean {
  if (type === "PodReadyToStartContainers") return features.PodReadyToStartContainersCondition;
  if (type === "FailingToStart") return features.PodFailingToStartCondition;
  return always.has(type);
}
