import type { Pod } from "../../api/objects.ts";
import { parseQuantity, wholeUnits } from "../../api/quantity.ts";
import { podLimit } from "../cgroup/pod-limits.ts";

export interface MemorySizeFacts {
  readonly pod: Pod;
  /** `memory` of the node's allocatable, where it is known. */
  readonly allocatable?: string;
  readonly sizeLimit?: string;
}

/** How many bytes a volume in memory may hold: the least of its own limit, the pod's, and the node's. */
export function memoryVolumeBytes({ pod, allocatable, sizeLimit }: MemorySizeFacts): number | undefined {
  const ofPod = podLimit(pod, "memory");
  const limits = [bytes(allocatable), ofPod ? wholeUnits(ofPod) : 0, bytes(sizeLimit)];
  const given = limits.filter((limit) => limit > 0);
  return given.length > 0 ? Math.min(...given) : undefined;
}

function bytes(quantity: string | undefined): number {
  return quantity === undefined ? 0 : wholeUnits(parseQuantity(quantity));
}
