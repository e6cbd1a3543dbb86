import { isIPv6 } from "node:net";
import type { Container, ContainerStatus, PodSpec, PodStatus } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { mayRestart } from "../../api/pod/pod-containers.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import { isFinalPhase } from "../../api/pod/pod-state.ts";
import { isStaticPod } from "../model/cri-labels.ts";
import { orderIps } from "../model/observed-pod.ts";
import { endStatuses } from "./container-state.ts";
import { containerStatuses, initContainerStatuses } from "./container-status.ts";
import { podConditions } from "./pod-conditions.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";

/** Generates a pod's status from the state in the runtime, the probe results and the previous status. */
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

/** A rejected pod has no container statuses. */
function seenStatuses(facts: StatusFacts) {
  if (facts.termination?.kind === "rejected" && !facts.observed) return { init: [], own: [] };
  return { init: initContainerStatuses(facts), own: containerStatuses(facts) };
}

/** Phase that the pod will have. Final phases do not change. */
function nextPhase(facts: StatusFacts, statuses: ReturnType<typeof containerStatuses>): Phase {
  const { pod, termination, observed } = facts;
  const ended = [pod.status?.phase, facts.previous?.phase].find(isFinalPhase);
  if (ended) return ended as Phase;
  if (termination && termination.kind !== "terminated") return "Failed";
  const spec = pod.spec ?? { containers: [] };
  const names = new Set(spec.containers.map(({ name }) => name));
  const sandboxId = observed?.sandboxes[0]?.id;
  // As upstream, the phase of a static pod is never final: its manifest can restart it.
  const final = termination?.kind === "terminated" && !isStaticPod(pod);
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
 * Phase, reason and message that are reported. While containers are still running, a final phase is not reported,
 * because the pod uses resources of the node: the previous phase stays until then.
 */
function shownPhase(facts: StatusFacts, phase: Phase): Pick<PodStatus, "phase" | "reason" | "message"> {
  const { pod, termination } = facts;
  const shown = isFinalPhase(pod.status?.phase) ? (pod.status ?? {}) : previousOf(facts);
  const endsNow = isFinalPhase(phase) && !isFinalPhase(shown.phase);
  const tooEarly = endsNow && !isOver(facts) && isRunning(facts);
  if (tooEarly || phase === shown.phase) return { phase: shown.phase ?? "Pending", ...reasonOf(shown) };
  return { phase, ...(termination && termination.kind !== "terminated" ? reasonOf(termination) : {}) };
}

function reasonOf({ reason, message }: { reason?: string; message?: string }) {
  return { ...(reason && { reason }), ...(message && { message }) };
}

/** Whether the kubelet has terminated the pod and none of its containers runs. */
function isOver(facts: StatusFacts): boolean {
  const { termination } = facts;
  return termination?.kind === "terminated" || (termination !== undefined && !isRunning(facts));
}

function isRunning({ observed }: StatusFacts): boolean {
  return observed?.containers.some(({ state }) => state.kind === "running") ?? false;
}

type Addresses = Pick<PodStatus, "podIP" | "podIPs" | "hostIP" | "hostIPs">;

function podAddresses(facts: StatusFacts): Addresses {
  const hostIps = facts.hostIps.slice(0, 2);
  const podIps = facts.pod.spec?.hostNetwork ? hostNetworkIps(facts, hostIps) : sandboxIps(facts);
  return {
    ...(hostIps.length > 0 && { hostIP: hostIps[0], hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(podIps.length > 0 && { podIP: podIps[0], podIPs: podIps.map((ip) => ({ ip })) }),
  };
}

/** Addresses of the ready sandbox. A pod whose sandbox is gone keeps its addresses. */
function sandboxIps(facts: StatusFacts): string[] {
  const [sandbox] = facts.observed?.sandboxes ?? [];
  if (!sandbox?.ready || facts.termination?.kind === "terminated") return previousIps(facts);
  return orderIps(sandbox.ips, facts.hostIps[0]);
}

/** Addresses of a pod on the host network never change, except that a second IP family is added. */
function hostNetworkIps(facts: StatusFacts, hostIps: readonly string[]): string[] {
  const [first = hostIps[0], second] = previousIps(facts);
  const added = hostIps.find((ip) => first !== undefined && isIPv6(ip) !== isIPv6(first));
  return [first, second ?? added].filter((ip) => ip !== undefined);
}

function previousIps(facts: StatusFacts): string[] {
  return (previousOf(facts).podIPs ?? []).flatMap(({ ip }) => ip ?? []);
}

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

export interface PhaseFacts {
  readonly spec: PodSpec;
  /** Statuses of init containers, sidecars and main containers. */
  readonly statuses: readonly ContainerStatus[];
  /** Whether a main container was created in the current sandbox. The restart of a sidecar does not reset this. */
  readonly initialized: boolean;
  /** Whether no container will be started again, regardless of the restart policy. */
  readonly final: boolean;
}

/**
 * Phase of a pod: Pending until all containers have run once, Running while one runs or will be restarted. Running
 * sidecars count, but their exit codes do not.
 */
export function phaseOf({ spec, statuses, initialized, final }: PhaseFacts): Phase {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const staged = (container: Container) => ({ container, ...stageOf(byName.get(container.name)) });
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const inits = (spec.initContainers ?? []).filter((container) => !isSidecar(container)).map(staged);
  const own = spec.containers.map(staged);

  if (inits.some((init) => init.kind === "ended" && init.exitCode !== 0 && isFinal(init, spec)))
    return "Failed";
  const initializing =
    inits.some(({ kind }) => kind !== "ended") ||
    (!initialized && sidecars.some(({ name }) => isNotUp(byName.get(name))));

  // Exited sidecars do not count.
  const all = [...own, ...sidecars.map(staged).filter(({ kind }) => kind !== "ended")];
  const any = (wanted: Stage["kind"]) => all.some(({ kind }) => kind === wanted);
  if (initializing || any("waiting") || any("unknown")) return "Pending";
  if (any("running")) return "Running";

  const ended = own.filter((each) => each.kind === "ended");
  if (ended.length === 0) return "Pending";
  if (!final && !ended.every((each) => isFinal(each, spec))) return "Running";
  // A container that waits for its restart has not succeeded, regardless of its last exit code.
  return ended.every(({ again, exitCode }) => !again && exitCode === 0) ? "Succeeded" : "Failed";
}

function isFinal(
  { container, exitCode }: { container: Container; exitCode: number },
  spec: PodSpec,
): boolean {
  return !mayRestart(container, spec, exitCode);
}

type Stage =
  | { readonly kind: "unknown" | "waiting" | "running" }
  /** `again` means that the container waits after an earlier exit. */
  | { readonly kind: "ended"; readonly exitCode: number; readonly again: boolean };

function stageOf(status: ContainerStatus | undefined): Stage {
  const { state, lastState } = status ?? {};
  if (state?.running) return { kind: "running" };
  if (state?.terminated) return { kind: "ended", exitCode: state.terminated.exitCode, again: false };
  if (!state?.waiting) return { kind: "unknown" };
  if (!lastState?.terminated) return { kind: "waiting" };
  return { kind: "ended", exitCode: lastState.terminated.exitCode, again: true };
}

/** Whether the container waits for its first start, or is running and has not passed its startup probe. */
function isNotUp(status: ContainerStatus | undefined): boolean {
  const { kind } = stageOf(status);
  if (kind === "running") return status?.started !== true;
  return kind === "waiting" || (kind === "unknown" && status !== undefined);
}
