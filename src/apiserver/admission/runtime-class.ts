import type * as k8s from "@kubernetes/client-node";
import { isEqual } from "../../api/is-equal.ts";
import type { Pod } from "../../api/objects.ts";
import type { RuntimeClass } from "../strategy/runtime-class.ts";

/**
 * Adds to a new pod what its runtime class costs and where it runs. Returns why the pod is forbidden, if it is.
 * `runtimeClass` is the one that the pod names.
 */
export function admitRuntimeClass(pod: Pod, runtimeClass: RuntimeClass | undefined): string | undefined {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  if (spec.runtimeClassName !== undefined && !runtimeClass) {
    return `pod rejected: RuntimeClass "${spec.runtimeClassName}" not found`;
  }
  const overhead = runtimeClass?.overhead?.podFixed;
  if (overhead) {
    if (Object.keys(spec.overhead ?? {}).length > 0 && !isEqual(spec.overhead, overhead)) {
      return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
    }
    spec.overhead = { ...overhead };
  } else if (spec.overhead) {
    return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
  }

  const { nodeSelector = {}, tolerations = [] } = runtimeClass?.scheduling ?? {};
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value) {
      return `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
    }
    spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
  }
  if (tolerations.length > 0) spec.tolerations = mergeTolerations(spec.tolerations ?? [], tolerations);
  return undefined;
}

/** Both lists, without what the other one already covers. */
function mergeTolerations(own: k8s.V1Toleration[], added: k8s.V1Toleration[]): k8s.V1Toleration[] {
  const kept = own.filter((narrow) => !added.some((wide) => !isEqual(wide, narrow) && covers(wide, narrow)));
  return [...kept, ...added.filter((narrow) => !own.some((wide) => covers(wide, narrow)))];
}

function covers(wide: k8s.V1Toleration, narrow: k8s.V1Toleration): boolean {
  if (isEqual(wide, narrow)) return true;
  if (wide.key !== narrow.key && (wide.key || wide.operator !== "Exists")) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.effect === "NoExecute" && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) {
      return false;
    }
  }
  if (wide.operator === "Exists") return true;
  return (!wide.operator || wide.operator === "Equal") && (wide.value ?? "") === (narrow.value ?? "");
}
