import type { Pod } from "../../api/objects.ts";
import { isFinalPhase } from "../../api/pod-phase.ts";
import type { PodObserver } from "../pod-observer.ts";
import type { PodWorkers } from "../pod-workers.ts";
import type { EarlyEnding } from "../status/status-facts.ts";
import { type AdmissionFacts, rejectPod } from "./reject-pod.ts";

export interface AdmissionOptions {
  readonly workers: () => Pick<PodWorkers, "list" | "has">;
  readonly observer: Pick<PodObserver, "get">;
  readonly node: () => AdmissionFacts["node"] & Pick<AdmissionFacts, "allocatable">;
  readonly config: Pick<AdmissionFacts, "allowedUnsafeSysctls">;
}

/** Lets pods in as long as there is room. Who came first has its place: only those that were let in before count. */
export function createPodAdmission(options: AdmissionOptions): (pod: Pod) => EarlyEnding | undefined {
  const admitted = new Set<string>();
  return (pod) => {
    const workers = options.workers();
    for (const uid of admitted) if (!workers.has(uid)) admitted.delete(uid);
    const others = workers.list().filter(({ metadata: { uid = "" }, status }) => {
      const isHere = admitted.has(uid) || options.observer.get(uid) !== undefined;
      return isHere && uid !== pod.metadata.uid && !isFinalPhase(status?.phase);
    });
    const node = options.node();
    const { allowedUnsafeSysctls } = options.config;
    const ending = rejectPod({ pod, others, node, allocatable: node.allocatable, allowedUnsafeSysctls });
    if (!ending) admitted.add(pod.metadata.uid ?? "");
    return ending;
  };
}
