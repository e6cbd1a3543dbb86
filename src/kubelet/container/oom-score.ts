import type { Container, Pod } from "../../api/objects.ts";
import { containersOf } from "../../api/pod-containers.ts";
import { containerTotals, hasPodResources, isSidecar } from "../../api/pod-resources.ts";
import { parseQuantity, wholeUnits } from "../../api/quantity.ts";
import { isStaticPod } from "../static-pod/static-pod-annotations.ts";
import { qosClass } from "./qos.ts";

const guaranteed = -997;
const bestEffort = 1_000;
const leastBurstable = 1_000 + guaranteed;
const systemCritical = 2_000_000_000;

/**
 * Who is killed first when the machine runs out of memory, 1000 before all others. In between, the more memory a
 * container asked for the safer it is: who uses more than that scores above 1000 with the kernel's own part.
 */
export function oomScoreAdjust(pod: Pod, container: Container, memoryBytes: number): number {
  if (isNodeCritical(pod)) return guaranteed;
  switch (qosClass(pod)) {
    case "Guaranteed":
      return guaranteed;
    case "BestEffort":
      return bestEffort;
    case "Burstable": {
      const request = countedRequest(pod, container) + unassignedShare(pod);
      const score = 1_000 - Math.trunc((1_000 * request) / Math.max(memoryBytes, 1));
      return Math.min(Math.max(score, leastBurstable), bestEffort - 1);
    }
  }
}

/** A sidecar is at least as safe as the least of the containers that need it. */
function countedRequest({ spec }: Pod, container: Container): number {
  const request = memoryRequest(container);
  const isPodsSidecar =
    isSidecar(container) && spec?.initContainers?.some(({ name }) => name === container.name);
  if (!isPodsSidecar) return request;
  return Math.max(request, Math.min(...(spec?.containers ?? []).map(memoryRequest)));
}

/** What the pod as a whole asks for beyond its containers is shared equally. */
function unassignedShare({ spec }: Pod): number {
  const asked = spec?.resources?.requests?.memory;
  if (asked === undefined || !hasPodResources(spec, ["requests"])) return 0;
  const assigned = containerTotals(spec, "requests").get("memory");
  const rest = wholeUnits(parseQuantity(asked)) - (assigned ? wholeUnits(assigned) : 0);
  return Math.floor(Math.max(rest, 0) / Math.max(containersOf(spec).length, 1));
}

function memoryRequest({ resources }: Container): number {
  return wholeUnits(parseQuantity(resources?.requests?.memory ?? "0"));
}

function isNodeCritical(pod: Pod): boolean {
  if (pod.spec?.priorityClassName !== "system-node-critical") return false;
  return isStaticPod(pod) || (pod.spec.priority ?? 0) >= systemCritical;
}
