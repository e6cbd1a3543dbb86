import type { Pod } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import { hasInit } from "./read-pod.ts";
import { currentStage, type Told, type TrackedStart } from "./tracked-start.ts";

/** What it tells that a pod is not there any more. */
export function followGone(state: TrackedStart, pod: Pod): readonly Told[] {
  const told: Told[] = [];
  if (state.outcome === "starting") {
    told.push({ kind: "abandoned", stage: currentStage(state, hasInit(pod)) });
  }
  // Nobody said when its sandbox went; that of a pod that is done went on another occasion.
  if (state.sandbox.kind === "ready" && !hasEnded(pod)) told.push({ kind: "unknown", what: "termination" });
  return told;
}
