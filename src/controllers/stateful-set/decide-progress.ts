import type { Pod } from "../../api/objects.ts";
import { isCreated } from "../pod-state.ts";
import { isDue } from "./decide-replicas.ts";
import { revisionOf } from "./pod-identity.ts";
import type { Rollout } from "./rollout.ts";
import type { Condition } from "./stateful-set-status.ts";

/**
 * The condition `Progressing`, for every strategy. False: a pod holds the set up and something is wrong with it; the
 * reason says what, the message which pod. True: the set is where it should be, or on its way.
 */
export function decideProgress(rollout: Rollout, stoppedAt: Pod | undefined): Condition {
  const blocker = findBlocker(rollout, stoppedAt);
  if (blocker) {
    const { kind, reason, message } = rollout.whyUnavailable(blocker);
    const pod = `pod ${blocker.metadata.name}`;
    if (kind === "coming") return progressing("True", reason, `waiting for ${pod}: ${message}`);
    return progressing("False", reason, `${pod} holds up the set: ${message}${advice(rollout, blocker)}`);
  }
  return whatHappens(rollout);
}

/** Runtimes may have much to say. */
const longestMessage = 2_048;

/** Of the pods that are waited for, the first one with a problem, else the first one. */
function findBlocker(rollout: Rollout, stoppedAt: Pod | undefined): Pod | undefined {
  const waitedFor = stoppedAt
    ? [stoppedAt]
    : rollout.replicas
        .toReversed()
        .filter((pod) => rollout.isUnavailable(pod) && !willBeReplaced(rollout, pod));
  const created = waitedFor.filter(isCreated);
  return created.find((pod) => rollout.whyUnavailable(pod).kind !== "coming") ?? created[0];
}

/** Nobody waits for a pod that is about to go anyway. */
function willBeReplaced(rollout: Rollout, pod: Pod): boolean {
  const { strategy, burst, permanentOnly } = rollout;
  if (!isDue(rollout, pod)) return false;
  if (strategy === "RollingUpdate") return burst;
  if (strategy !== "EnforcedRollingUpdate") return false;
  return !permanentOnly || rollout.cannotHeal(pod);
}

/** What to do about a pod that the strategy does not replace, though it is to be. */
function advice(rollout: Rollout, pod: Pod): string {
  const { facts, strategy } = rollout;
  if (!isDue(rollout, pod) || strategy === "EnforcedRollingUpdate") return "";
  const from = `it runs ${revisionOf(pod) || "no revision"} instead of ${facts.update.name}`;
  return `; ${from}, and ${strategy} does not replace it: delete the pod, or use EnforcedRollingUpdate`;
}

function whatHappens(rollout: Rollout): Condition {
  const { facts, replicas, condemned, isOld } = rollout;
  const update = facts.update.name;
  const created = replicas.filter(isCreated).length;
  if (created < replicas.length) {
    return progressing("True", "CreatingPods", `${created} of ${replicas.length} pods are created`);
  }
  const old = replicas.filter((pod) => isDue(rollout, pod));
  if (old.length > 0) {
    const pods = `${old.length} of ${replicas.length} pods do not run ${update} yet`;
    if (rollout.strategy === "OnDelete") return progressing("True", "WaitingForDelete", pods);
    return progressing("True", "UpdatingPods", pods);
  }
  if (condemned.length > 0) {
    return progressing("True", "ScalingDown", `${condemned.length} pods more than wanted`);
  }
  const kept = replicas.filter(isOld).length;
  const below = kept > 0 ? `, ${kept} below the partition` : "";
  return progressing("True", "RolloutComplete", `${replicas.length - kept} pods run ${update}${below}`);
}

function progressing(status: "True" | "False", reason: string, message: string): Condition {
  return { type: "Progressing", status, reason, message: message.slice(0, longestMessage) };
}
