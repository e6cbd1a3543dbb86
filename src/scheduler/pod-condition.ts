import { formatTime } from "../api/format-time.ts";
import type { Pod, PodCondition } from "../api/objects.ts";

/** Why a pod has no node: nothing fits, or trying failed. */
export interface Failure {
  readonly reason: "Unschedulable" | "SchedulerError";
  readonly message: string;
}

/** The condition that says so; undefined when the pod has it already. */
export function failedCondition(
  { metadata, status }: Pod,
  failure: Failure,
  now: number,
): PodCondition | undefined {
  const known = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const { generation } = metadata;
  const isKnown =
    known?.status === "False" &&
    known.reason === failure.reason &&
    known.message === failure.message &&
    known.observedGeneration === generation;
  if (isKnown) return undefined;
  return {
    type: "PodScheduled",
    status: "False",
    ...failure,
    ...(generation !== undefined && { observedGeneration: generation }),
    // The time of the last change from True to False or back, not of a new text.
    lastTransitionTime:
      known?.status === "False" && known.lastTransitionTime ? known.lastTransitionTime : formatTime(now),
  };
}

const maxNote = 1_024;

/** As long as the text of an event may be. */
export function shortenNote(message: string): string {
  return message.length <= maxNote ? message : `${message.slice(0, maxNote - 4)} ...`;
}
