import type { Container, Pod } from "../../api/objects.ts";
import { parseQuantity, wholeUnits } from "../../api/quantity.ts";

export interface MemorySizeFacts {
  readonly pod: Pod;
  /** `memory` of the node's allocatable, where it is known. */
  readonly allocatable?: string;
  readonly sizeLimit?: string;
}

/** How many bytes a volume in memory may hold: the least of its own limit, the pod's, and the node's. */
export function memoryVolumeBytes({ pod, allocatable, sizeLimit }: MemorySizeFacts): number | undefined {
  const limits = [bytes(allocatable), podMemoryLimit(pod), bytes(sizeLimit)].filter((limit) => limit > 0);
  return limits.length > 0 ? Math.min(...limits) : undefined;
}

/** 0 when something in the pod has no limit. */
function podMemoryLimit(pod: Pod): number {
  const { spec } = pod;
  const overhead = bytes(spec?.overhead?.memory);
  const ofPod = bytes(spec?.resources?.limits?.memory);
  if (ofPod > 0) return ofPod + overhead;

  const initContainers = spec?.initContainers ?? [];
  const containers = spec?.containers ?? [];
  if ([...initContainers, ...containers].some((container) => limitOf(container) === 0)) return 0;

  // Sidecars stay: they count beside each later init container and beside the containers.
  let sidecars = 0;
  let peak = 0;
  for (const container of initContainers) {
    if (container.restartPolicy === "Always") sidecars += limitOf(container);
    peak = Math.max(peak, container.restartPolicy === "Always" ? sidecars : sidecars + limitOf(container));
  }
  const running = containers.reduce((sum, container) => sum + limitOf(container), sidecars);
  return Math.max(peak, running) + overhead;
}

function limitOf(container: Container): number {
  return bytes(container.resources?.limits?.memory);
}

function bytes(quantity: string | undefined): number {
  return quantity === undefined ? 0 : wholeUnits(parseQuantity(quantity));
}
