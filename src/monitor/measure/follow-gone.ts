import type { Pod } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import { currentStage, type Told, type TrackedStart } from "./tracked-start.ts";

/** What it tells that a pod is not there any more. */
export function followGone({ outcome, sandbox, ...state }: TrackedStart, pod: Pod): readonly Told[] {
  const told: Told[] = [];
  if (outcome === "starting") {
    const hasInit = (pod.spec?.initContainers ?? []).length > 0;
    told.push({ kind: "abandoned", stage: currentStage({ outcome, sandbox, ...state }, hasInit) });
  }
  // Nobody said when its sandbox went; that of a pod that is done went on another occasion.
  if (sandbox.kind === "ready" && !hasEnded(pod)) told.push({ kind: "unknown", what: "termination" });
  return told;
}
