import type { PodStart } from "../../measure/start-signal.ts";
import { stages } from "../../measure/start-signal.ts";
import type { FinishedView } from "../feed-message.ts";
import { nameOwner } from "./name-owner.ts";

/** A start that is over; undefined when nobody saw its end. */
export function viewFinished({
  pod,
  class: of,
  createdMs,
  ends,
  userError,
}: PodStart): FinishedView | undefined {
  const readyMs = ends.readiness;
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
    stages: secondsByStage(createdMs, ends),
    userError,
  };
}

/** A stage begins where the one before it ended. Where that is not known, its length is not known either. */
function secondsByStage(createdMs: number, ends: PodStart["ends"]): Record<string, number> {
  const seconds: Record<string, number> = {};
  let beginMs: number | undefined = createdMs;
  for (const stage of stages) {
    const endMs: number | undefined = ends[stage];
    // Only pods with init containers have the stage: for the others the one after it begins with the sandbox.
    if (endMs === undefined && stage === "init") continue;
    if (beginMs !== undefined && endMs !== undefined) seconds[stage] = Math.max(0, endMs - beginMs) / 1_000;
    beginMs = endMs;
  }
  return seconds;
}
