import { stageTimes } from "../../measure/stage-times.ts";
import type { PodStart } from "../../measure/start-signal.ts";
import type { FinishedView } from "../feed-message.ts";
import { nameOwner } from "./name-owner.ts";

/** A start that is over; undefined when nobody saw its end. */
export function viewFinished(start: PodStart): FinishedView | undefined {
  const { pod, class: of, createdMs, userError } = start;
  const readyMs = start.ends.readiness;
  if (readyMs === undefined) return undefined;
  return {
    uid: pod.uid,
    namespace: pod.namespace,
    name: pod.name,
    node: pod.node,
    owner: nameOwner({ kind: of.ownerKind, name: of.ownerName || pod.name, revision: of.revision }),
    revision: of.revision,
    runtimeClass: of.runtimeClass,
    storageClasses: of.storageClasses,
    createdMs,
    readyMs,
    stages: Object.fromEntries(
      stageTimes(start).map(({ stage, fromMs, untilMs }) => [stage, Math.max(0, untilMs - fromMs) / 1_000]),
    ),
    userError,
  };
}
