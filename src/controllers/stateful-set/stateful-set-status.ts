import type * as k8s from "@kubernetes/client-node";
import { formatTime } from "../../api/format-time.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Pod, StatefulSet, Wire } from "../../api/objects.ts";
import { StatusError } from "../../api/status-error.ts";
import { isAvailable, isCreated, isRunningAndReady, isTerminating } from "../pod-state.ts";
import { revisionOf } from "./pod-identity.ts";
import type { PodAction, StatefulSetFacts } from "./stateful-set-facts.ts";

export type StatefulSetStatus = NonNullable<StatefulSet["status"]>;
export type Condition = Omit<Wire<k8s.V1StatefulSetCondition>, "lastTransitionTime">;

/** What the pods amount to, before anything is done about them. */
export function countPods(facts: StatefulSetFacts): StatefulSetStatus {
  const { set, pods, current, update, collisionCount, now } = facts;
  const { minReadySeconds = 0 } = set.spec ?? {};
  const count = (is: (pod: Pod) => boolean) => pods.filter(is).length;
  const at = (revision: string) => (pod: Pod) =>
    isCreated(pod) && !isTerminating(pod) && revisionOf(pod) === revision;
  return complete(set, {
    observedGeneration: set.metadata.generation,
    replicas: count(isCreated),
    readyReplicas: count(isRunningAndReady),
    availableReplicas: count((pod) => isRunningAndReady(pod) && isAvailable(pod, minReadySeconds, now)),
    currentReplicas: count(at(current.name)),
    updatedReplicas: count(at(update.name)),
    currentRevision: current.name,
    updateRevision: update.name,
    collisionCount,
    conditions: set.status?.conditions,
  });
}

/** When every pod runs the update revision and is ready, that is the current one. */
function complete({ spec }: StatefulSet, status: StatefulSetStatus): StatefulSetStatus {
  const { updatedReplicas, readyReplicas, replicas, updateRevision } = status;
  const wanted = spec?.replicas ?? 1;
  if (updatedReplicas !== wanted || readyReplicas !== wanted || replicas !== wanted) return status;
  return { ...status, currentReplicas: updatedReplicas, currentRevision: updateRevision };
}

export function withCondition(
  status: StatefulSetStatus,
  condition: Condition,
  now: number,
): StatefulSetStatus {
  const { conditions = [] } = status;
  const before = conditions.find(({ type }) => type === condition.type);
  const moved = before?.status !== condition.status;
  const next = { ...condition, lastTransitionTime: moved ? formatTime(now) : before?.lastTransitionTime };
  if (!before) return { ...status, conditions: [...conditions, next] };
  return { ...status, conditions: conditions.map((known) => (known === before ? next : known)) };
}

/** A planned status after what was really done, and with what went wrong. */
export function statusAfter(
  status: StatefulSetStatus,
  {
    done,
    failure,
    now,
  }: { readonly done: ReadonlySet<PodAction>; readonly failure?: unknown; readonly now: number },
): StatefulSetStatus {
  const replaced = [...done].filter(
    (action) =>
      action.kind === "deletePod" &&
      action.why === "updated" &&
      revisionOf(action.pod) === status.currentRevision,
  ).length;
  const currentReplicas = (status.currentReplicas ?? 0) - replaced;
  const next = replaced > 0 ? { ...status, currentReplicas } : status;
  // A conflict only says that there is something newer to look at.
  if (!(failure instanceof StatusError) || failure.code === 409) return next;
  const { reason, message } = failure;
  return withCondition(next, { type: "Progressing", status: "False", reason, message }, now);
}

/** The status as it is written; undefined when the set has it already. */
export function statusToWrite(set: StatefulSet, next: StatefulSetStatus): StatefulSetStatus | undefined {
  const before = set.status ?? { replicas: 0 };
  // A newer generation may have been observed before the copy at hand was taken.
  const observedGeneration = Math.max(next.observedGeneration ?? 0, before.observedGeneration ?? 0);
  const written = { ...next, observedGeneration };
  for (const name of ["readyReplicas", "currentReplicas", "updatedReplicas"] as const) {
    // As upstream writes it: these are not there when they are none.
    if (!written[name]) delete written[name];
  }
  return isEqual(withoutNone(before), withoutNone(written)) ? undefined : written;
}

function withoutNone(status: StatefulSetStatus): Record<string, unknown> {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));
}
