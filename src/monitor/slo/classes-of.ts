import type { PodStart } from "../measure/start-signal.ts";
import { noneValue } from "../metrics/class-labels.ts";

/**
 * Everything that a breach can be put down to. Plugins come first: where two classes hold the same pods, the one that
 * comes first is shown first.
 */
export function classesOf({ pod, class: podClass }: PodStart): { dimension: string; value: string }[] {
  const { namespace, ownerKind, ownerName, runtimeClass, storageClasses, chosen } = podClass;
  const owner = ownerKind === "Pod" ? "Pod" : `${namespace}/${ownerKind}/${ownerName}`;
  return [
    ...(storageClasses.length > 0 ? storageClasses : [noneValue]).map((value) => ({
      dimension: "StorageClass",
      value,
    })),
    { dimension: "RuntimeClass", value: runtimeClass || noneValue },
    { dimension: "node", value: pod.node || noneValue },
    ...Object.entries(chosen).map(([dimension, value]) => ({ dimension, value: value || noneValue })),
    { dimension: "owner", value: owner },
    { dimension: "namespace", value: namespace },
  ];
}
