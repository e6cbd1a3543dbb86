import { isReady } from "../../api/conditions.ts";
import { formatTime } from "../../api/format-time.ts";
import type { Node, Pod, PodCondition } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";

interface Facts {
  readonly pods: Iterable<Pod>;
  node(name: string): Node | undefined;
  /** Since when nodes that pods are bound to are not there. */
  readonly missingSince: ReadonlyMap<string, number>;
  /** How many pods that have ended are kept; 0 keeps them all. */
  readonly keepEnded: number;
  readonly now: number;
}

interface Garbage {
  readonly pod: Pod;
  readonly why: "ended" | "unscheduled" | "outOfService";
}

interface GarbagePlan {
  readonly deletions: readonly Garbage[];
  /** By node: they go when the API server, too, says that it is not there. */
  readonly orphans: ReadonlyMap<string, readonly Pod[]>;
  readonly missingSince: ReadonlyMap<string, number>;
}

/** A node may be late to be seen: its pods are not touched before that. */
const quarantineMs = 40_000;

export function decideGarbage({ pods, node, missingSince, keepEnded, now }: Facts): GarbagePlan {
  const deletions: Garbage[] = [];
  const ended: Pod[] = [];
  const missing = new Map<string, Pod[]>();
  for (const pod of pods) {
    if (hasEnded(pod)) ended.push(pod);
    const nodeName = pod.spec?.nodeName;
    if (!nodeName) {
      if (pod.metadata.deletionTimestamp) deletions.push({ pod, why: "unscheduled" });
      continue;
    }
    const at = node(nodeName);
    if (!at) missing.set(nodeName, [...(missing.get(nodeName) ?? []), pod]);
    else if (pod.metadata.deletionTimestamp && isOutOfService(at)) {
      deletions.push({ pod, why: "outOfService" });
    }
  }
  const since = new Map([...missing.keys()].map((name) => [name, missingSince.get(name) ?? now]));
  const orphans = [...missing].filter(([name]) => now - (since.get(name) ?? now) >= quarantineMs);
  return {
    deletions: [...endedBeyond(ended, keepEnded), ...deletions],
    orphans: new Map(orphans),
    missingSince: since,
  };
}

function isOutOfService(node: Node): boolean {
  const tainted = node.spec?.taints?.some(({ key }) => key === "node.kubernetes.io/out-of-service");
  return !isReady(node) && tainted === true;
}

/** Those that were evicted first, then the oldest. */
function endedBeyond(ended: Pod[], keep: number): readonly Garbage[] {
  if (keep <= 0 || ended.length <= keep) return [];
  const evicted = ({ status }: Pod) => status?.phase === "Failed" && status.reason === "Evicted";
  const age = ({ metadata }: Pod) => `${metadata.creationTimestamp} ${metadata.name}`;
  return ended
    .sort((a, b) => Number(evicted(b)) - Number(evicted(a)) || (age(a) < age(b) ? -1 : 1))
    .slice(0, ended.length - keep)
    .map((pod) => ({ pod, why: "ended" }));
}

/** How a pod says that it has failed, when nobody else is there to say it; undefined when it has said how it ended. */
export function failedStatus(pod: Pod, { orphan, now }: { readonly orphan: boolean; readonly now: number }) {
  if (hasEnded(pod)) return undefined;
  const condition: PodCondition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "DeletionByPodGC",
    message: "PodGC: node no longer exists",
    lastTransitionTime: formatTime(now),
  };
  return { phase: "Failed", ...(orphan && { conditions: [condition] }) };
}
