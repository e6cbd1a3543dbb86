import { formatTime } from "../../api/format-time.ts";
import type { PodStatus } from "../../api/objects.ts";
import { isFinalPhase } from "../../api/pod-phase.ts";
import { isStaticPod } from "../static-pod/static-pod-annotations.ts";
import { containerStatuses, initContainerStatuses } from "./container-status.ts";
import { endStatuses } from "./end-statuses.ts";
import { type Phase, phaseOf } from "./phase.ts";
import { podAddresses } from "./pod-addresses.ts";
import { podConditions } from "./pod-conditions.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";

/** A pod's status from what the runtime has, what the probes say and what was known before. */
export function generatePodStatus(facts: StatusFacts): PodStatus {
  const { pod } = facts;
  const previous = previousOf(facts);
  const seen = seenStatuses(facts);
  const phase = nextPhase(facts, [...seen.init, ...seen.own]);
  const spec = pod.spec ?? { containers: [] };
  const { init, own } = isOver(facts) ? endStatuses(spec, seen) : seen;
  const { generation } = pod.metadata;
  return {
    ...shownPhase(facts, phase),
    ...(generation && { observedGeneration: generation }),
    conditions: podConditions(facts, [...init, ...own], phase),
    ...podAddresses(facts),
    startTime: previous.startTime ?? formatTime(facts.now),
    ...(init.length > 0 && { initContainerStatuses: [...init] }),
    ...(own.length > 0 && { containerStatuses: [...own] }),
    qosClass: pod.status?.qosClass ?? previous.qosClass,
  };
}

/** A pod that was turned away has no containers, not even waiting ones. */
function seenStatuses(facts: StatusFacts) {
  if (facts.ending?.kind === "rejected" && !facts.observed) return { init: [], own: [] };
  return { init: initContainerStatuses(facts), own: containerStatuses(facts) };
}

/** What the pod comes to. A phase that has ended stays. */
function nextPhase(facts: StatusFacts, statuses: ReturnType<typeof containerStatuses>): Phase {
  const { pod, ending, observed } = facts;
  const ended = [pod.status?.phase, facts.previous?.phase].find(isFinalPhase);
  if (ended) return ended as Phase;
  if (ending && ending.kind !== "terminated") return "Failed";
  const spec = pod.spec ?? { containers: [] };
  const names = new Set(spec.containers.map(({ name }) => name));
  const sandboxId = observed?.sandboxes[0]?.id;
  // Upstream leaves the phase of a static pod open: its file may bring it back.
  const final = ending?.kind === "terminated" && !isStaticPod(pod);
  const phase = phaseOf({
    spec,
    statuses,
    initialized:
      observed?.containers.some((each) => each.sandboxId === sandboxId && names.has(each.name)) ?? false,
    final,
  });
  return final && !isFinalPhase(phase) ? "Failed" : phase;
}

/**
 * Phase, reason and message as written. While something of the pod still runs, others must not take it for ended (its
 * node's resources are in use): the phase of before is shown until then.
 */
function shownPhase(facts: StatusFacts, phase: Phase): Pick<PodStatus, "phase" | "reason" | "message"> {
  const { pod, ending } = facts;
  const shown = isFinalPhase(pod.status?.phase) ? (pod.status ?? {}) : previousOf(facts);
  const endsNow = isFinalPhase(phase) && !isFinalPhase(shown.phase);
  const tooEarly = endsNow && !isOver(facts) && isRunning(facts);
  if (tooEarly || phase === shown.phase) return { phase: shown.phase ?? "Pending", ...reasonOf(shown) };
  return { phase, ...(ending && ending.kind !== "terminated" ? reasonOf(ending) : {}) };
}

function reasonOf({ reason, message }: { reason?: string; message?: string }) {
  return { ...(reason && { reason }), ...(message && { message }) };
}

/** The kubelet has ended the pod, and nothing of it runs. */
function isOver(facts: StatusFacts): boolean {
  const { ending } = facts;
  return ending?.kind === "terminated" || (ending !== undefined && !isRunning(facts));
}

function isRunning({ observed }: StatusFacts): boolean {
  return observed?.containers.some(({ state }) => state.kind === "running") ?? false;
}
