import type * as k8s from "@kubernetes/client-node";
import type { PodSpec } from "./objects.ts";
import { containersOf } from "./pod-containers.ts";
import { compareQuantities, parseQuantity } from "./quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** How safe a pod is from being killed when memory runs out: one class for all containers, else Burstable. */
export function qosClassOf(spec: PodSpec): QosClass {
  if (hasCpuOrMemory(spec.resources)) return classOfRequirements(spec.resources);
  const containers = containersOf(spec);
  return oneClass(containers.map((container) => classOfRequirements(container.resources)));
}

function classOfRequirements(resources: k8s.V1ResourceRequirements | undefined): QosClass {
  const { requests = {}, limits = {} } = resources ?? {};
  return oneClass(
    ["cpu", "memory"].map((name) => {
      const request = parseQuantity(requests[name] ?? "0");
      if (compareQuantities(request, parseQuantity(limits[name] ?? "0")) !== 0) return "Burstable";
      return request.nanos === 0n ? "BestEffort" : "Guaranteed";
    }),
  );
}

function oneClass(classes: readonly QosClass[]): QosClass {
  const [first = "BestEffort"] = classes;
  return classes.every((each) => each === first) ? first : "Burstable";
}

function hasCpuOrMemory(resources: k8s.V1ResourceRequirements | undefined): boolean {
  const names = { ...resources?.requests, ...resources?.limits };
  return "cpu" in names || "memory" in names;
}
