import { isReady } from "../../api/meta/object-facts.ts";
import type { Pod } from "../../api/meta/objects.ts";
import { isAvailable, isTerminating } from "../../api/pod/pod-state.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { hashLabel } from "./daemon-pod.ts";
import { type DaemonSetFacts, type NodeFacts, updateLimits } from "./daemon-set-facts.ts";
import { type BackOffs, backOffMs, recordDeletions } from "./failed-pod-back-off.ts";
import { decideRollingUpdate } from "./rolling-update.ts";

export interface PodsPlan {
  /** Names of nodes on which a pod is created. */
  readonly createOn: readonly string[];
  readonly delete: readonly Pod[];
  readonly events: readonly EventToRecord[];
  readonly backOffs: BackOffs;
  /** Time after which the back-off of a failed pod ends. */
  readonly requeueAfterMs?: number;
}

/** Upstream's limit of pods that one sync creates, and of those that it deletes. */
const maxBurst = 250;

/**
 * Decides which pods are created and deleted: first so that each node has the pods that it should have, and in a sync
 * that finds all of them, for the rolling update.
 */
export function decidePods(facts: DaemonSetFacts, backOffs: BackOffs): PodsPlan {
  const perNode = facts.nodes.map((node) => ({ node, ...decideNode(facts, node, backOffs) }));
  let createOn = perNode.flatMap(({ node, creates }) => (creates ? [node.name] : []));
  // The scheduler cannot bind these pods, and pods that are bound to a missing node are garbage-collected.
  const unbound = facts.podsWithoutNode.filter((pod) => !pod.spec?.nodeName && !isTerminating(pod));
  let deleted = [...perNode.flatMap((decision) => decision.deletes), ...unbound];
  if (createOn.length === 0 && deleted.length === 0) {
    const update = decideRollingUpdate(facts);
    createOn = [...update.createOn];
    deleted = [...update.delete];
  }
  const failedOn = perNode.filter(({ deletesFailed }) => deletesFailed).map(({ node }) => node.name);
  const waits = perNode.flatMap(({ waitMs }) => waitMs ?? []);
  return {
    createOn: createOn.slice(0, maxBurst),
    delete: deleted.slice(0, maxBurst),
    events: perNode.flatMap(({ events }) => events),
    backOffs: recordDeletions(backOffs, failedOn, facts.now),
    ...(waits.length > 0 && { requeueAfterMs: Math.min(...waits) }),
  };
}

interface NodeDecision {
  readonly creates?: boolean;
  readonly deletes: readonly Pod[];
  readonly events: readonly EventToRecord[];
  readonly deletesFailed?: boolean;
  readonly waitMs?: number;
}

function decideNode(facts: DaemonSetFacts, node: NodeFacts, backOffs: BackOffs): NodeDecision {
  const { placement, pods } = node;
  const live = pods.filter((pod) => !isTerminating(pod));
  if (placement === "none") return { deletes: live, events: [] };
  // Without surge, a terminating pod delays the next one: two pods could use the same host ports or files.
  if (placement === "run" && pods.length === 0) return { creates: true, deletes: [], events: [] };
  const ended = decideEnded(facts, { node, live, backOffs });
  const running = live.filter(({ status }) => status?.phase !== "Failed" && status?.phase !== "Succeeded");
  if (updateLimits(facts.set, 1).maxSurge === 0)
    return { ...ended, deletes: [...ended.deletes, ...running.slice(1)] };
  if (running.length === 0) return { ...ended, creates: placement === "run" };
  return { ...ended, deletes: [...ended.deletes, ...excessOf(facts, running)] };
}

function decideEnded(
  { now }: DaemonSetFacts,
  { node, live, backOffs }: { node: NodeFacts; live: readonly Pod[]; backOffs: BackOffs },
): NodeDecision {
  const nameOf = ({ metadata }: Pod) => `${metadata.namespace}/${metadata.name}`;
  const failed = live.filter(({ status }) => status?.phase === "Failed");
  const succeeded = live.filter(({ status }) => status?.phase === "Succeeded");
  const waitMs = failed.length > 0 ? backOffMs(backOffs, node.name, now) : 0;
  // The second failed pod of a node waits for the back-off that the first one starts.
  const removed = waitMs > 0 ? [] : failed.slice(0, 1);
  const waiting = waitMs > 0 ? waitMs : failed.length > 1 ? 1_000 : undefined;
  return {
    deletes: [...removed, ...succeeded],
    events: [
      ...removed.map((pod) => ({
        type: "Warning" as const,
        reason: "FailedDaemonPod",
        message: `Found failed daemon pod ${nameOf(pod)} on node ${node.name}, will try to kill it`,
      })),
      ...succeeded.map((pod) => ({
        type: "Normal" as const,
        reason: "SucceededDaemonPod",
        message: `Found succeeded daemon pod ${nameOf(pod)} on node ${node.name}, will try to delete it`,
      })),
    ],
    deletesFailed: removed.length > 0,
    ...(waiting !== undefined && { waitMs: waiting }),
  };
}

/**
 * Pods beyond the two that a node may have while it surges: the oldest of the current template and the oldest of an
 * earlier one, which stays while it is ready and the current one is not available.
 */
function excessOf({ set, hash, now }: DaemonSetFacts, running: readonly Pod[]): readonly Pod[] {
  const isNew = ({ metadata }: Pod) => metadata.labels?.[hashLabel] === hash;
  const current = running.find(isNew);
  const old = running.find((pod) => !isNew(pod));
  const excess = running.filter((pod) => pod !== current && pod !== old);
  if (!current || !old) return excess;
  const isReplaced = !isReady(old) || isAvailable(current, set.spec?.minReadySeconds ?? 0, now);
  return isReplaced ? [...excess, old] : excess;
}
