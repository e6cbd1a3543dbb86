// Clauses: 3815-10
import { conditionOf } from "../api/meta/object-facts.ts";
import type { ContainerStatus, Pod, PodCondition } from "../api/meta/objects.ts";
import { formatTime } from "../api/meta/time.ts";
import { hasEnded, isTerminating } from "../api/pod/pod-state.ts";
import {
  failingToStart,
  failingToStartType,
  statusesIn,
  stuckContainers,
} from "../explain/failing-to-start.ts";

/**
 * What this process knows about its condition on a pod:
 *
 *     unknown ──a container is stuck──▶ written ──another writer changes or removes the condition──▶ yielded
 *     unknown ──a previous process wrote the condition──▶ written
 *
 * A condition of the kubelet needs no record: it lacks `lastProbeTime`.
 */
export type ConditionRecord =
  | {
      readonly kind: "written";
      readonly podUid: string | undefined;
      /** Version of the pod that the last write changed. A cache with this version does not have the write yet. */
      readonly basedOn?: string;
      readonly condition: PodCondition;
      /** Statuses of the containers that were stuck while the condition was True. */
      readonly stuck: readonly ContainerStatus[];
    }
  | { readonly kind: "yielded"; readonly podUid: string | undefined };

interface ConditionFacts {
  readonly pod: Pod;
  /** Record of the pod of this name, which may be about an earlier pod. */
  readonly record: ConditionRecord | undefined;
  readonly now: number;
}

export interface ConditionStep {
  /** Record to keep. */
  readonly record: ConditionRecord | undefined;
  /** Condition to write, and the record to keep once it is written. */
  readonly write?: { readonly condition: PodCondition; readonly record: ConditionRecord };
}

/**
 * Decides which condition FailingToStart a pod gets from this controller.
 *
 * A kubelet that owns the condition writes it together with the first container statuses, so a pod with statuses and
 * without the condition has a kubelet that does not. The conditions of this controller have `lastProbeTime`, which
 * kubelets do not set and remove when they overwrite the condition. A condition that differs from the last write has
 * another writer, even if `lastProbeTime` is still there.
 *
 * A pod that never failed gets no condition.
 */
export function decideCondition({ pod, record, now }: ConditionFacts): ConditionStep {
  const { uid: podUid, resourceVersion } = pod.metadata;
  const current = conditionOf(pod, failingToStartType);
  const known = record?.podUid === podUid ? record : undefined;
  if (known?.kind === "yielded") return { record: known };
  if (known?.basedOn !== undefined && known.basedOn === resourceVersion) return { record: known };
  if (known && !isSame(current, known.condition)) return { record: { kind: "yielded", podUid } };
  if (current && !isOwn(current)) return { record: undefined };

  const status = pod.status ?? {};
  const statuses = statusesIn(status);
  const ended = isTerminating(pod) || hasEnded(pod);
  const stuck = ended ? (known?.stuck ?? []) : stuckContainers(statuses).map(({ status }) => status);
  const kept: ConditionRecord | undefined = current && { kind: "written", podUid, condition: current, stuck };
  if (statuses.length === 0) return { record: kept };
  const wanted = failingToStart({
    statuses,
    ended,
    previous: { conditions: current ? [current] : [], containerStatuses: [...stuck] },
  });
  if (wanted.status === (current?.status ?? "False") && hasText(current, wanted)) return { record: kept };
  const time = formatTime(now);
  const condition: PodCondition = {
    ...wanted,
    lastTransitionTime: current?.status === wanted.status ? (current.lastTransitionTime ?? time) : time,
    lastProbeTime: time,
    // API servers before 1.33 know no observed generation of pods.
    ...(status.observedGeneration && { observedGeneration: status.observedGeneration }),
  };
  return {
    record: kept,
    write: { condition, record: { kind: "written", podUid, basedOn: resourceVersion, condition, stuck } },
  };
}

/** Whether this controller wrote the condition. */
export function isOwn({ lastProbeTime }: PodCondition): boolean {
  return Boolean(lastProbeTime);
}

function hasText(current: PodCondition | undefined, { reason = "", message = "" }: Text): boolean {
  return (current?.reason ?? "") === reason && (current?.message ?? "") === message;
}

type Text = Pick<PodCondition, "reason" | "message">;

function isSame(current: PodCondition | undefined, written: PodCondition): boolean {
  return (
    current?.status === written.status &&
    hasText(current, written) &&
    current.lastTransitionTime === written.lastTransitionTime &&
    current.lastProbeTime === written.lastProbeTime
  );
}
