import { conditionOf } from "../../api/conditions.ts";
import type { ContainerStatus, Pod } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import { healsByItself } from "../../api/waiting-reasons.ts";
import { availableInMs, isTerminating } from "../pod-state.ts";

/** Why a pod is not available. */
export interface Holdup {
  /**
   * - `coming`: nothing has gone wrong so far
   * - `failing`: something has, and may be better the next time
   * - `permanent`: it stays so until somebody changes something
   */
  readonly kind: "coming" | "failing" | "permanent";
  /** One word, for machines. */
  readonly reason: string;
  readonly message: string;
}

/** For a pod that is not available. The first thing that is wrong counts, in the order in which pods start. */
export function whyUnavailable(pod: Pod, minReadySeconds: number, now: number): Holdup {
  if (isTerminating(pod)) return coming("PodTerminating", "is being deleted");
  if (hasEnded(pod)) {
    const { phase = "", reason, message } = pod.status ?? {};
    return failing(reason ?? `Pod${phase}`, message ?? `has ended: ${phase}`);
  }
  return (
    unscheduled(pod) ??
    failingToStart(pod) ??
    withoutSandbox(pod) ??
    firstOf(containersOf(pod), waitingBadly) ??
    firstOf(containersOf(pod), restarted) ??
    firstOf(containersOf(pod), onTheWay) ??
    notReady(pod) ??
    waitingOut(pod, minReadySeconds, now) ??
    coming("PodStarting", "is starting")
  );
}

/**
 * Whether a container of it may have bytes of its image arriving, or some of its startup budget left. Those that wait
 * for an init container do nothing.
 */
export function isUnderWay(pod: Pod): boolean {
  return containersOf(pod).some(({ started, state }) =>
    state?.running ? started === false : state?.waiting?.reason === "ContainerCreating",
  );
}

function unscheduled(pod: Pod): Holdup | undefined {
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status === "False") {
    return failing(scheduled.reason ?? "Unschedulable", scheduled.message ?? "cannot be scheduled");
  }
  return pod.spec?.nodeName ? undefined : coming("PodUnscheduled", "has no node yet");
}

function failingToStart(pod: Pod): Holdup | undefined {
  const condition = conditionOf(pod, "FailingToStart");
  if (condition?.status !== "True") return undefined;
  return {
    kind: "permanent",
    reason: condition.reason ?? "FailingToStart",
    message: condition.message ?? "",
  };
}

/** What every sandbox says before it is there is no failure. */
const sandboxPending = "PodSandboxNotReady";

function withoutSandbox(pod: Pod): Holdup | undefined {
  const condition = conditionOf(pod, "PodReadyToStartContainers");
  if (condition?.status !== "False" || !condition.reason || condition.reason === sandboxPending)
    return undefined;
  return failing(condition.reason, condition.message ?? "");
}

function waitingBadly({ name, state }: ContainerStatus): Holdup | undefined {
  const { reason, message } = state?.waiting ?? {};
  if (!reason || isOnTheWay(reason)) return undefined;
  const text = `container ${name}: ${reason}${message ? `: ${message}` : ""}`;
  return healsByItself(reason) ? failing(reason, text) : { kind: "permanent", reason, message: text };
}

function isOnTheWay(reason: string): boolean {
  return ["ContainerCreating", "PodInitializing", "RestartingAllContainers"].includes(reason);
}

/** It has ended badly before, and is not well again. */
function restarted({ name, ready, restartCount, state, lastState }: ContainerStatus): Holdup | undefined {
  const ended = state?.terminated ?? lastState?.terminated;
  if (ready || !ended || ended.exitCode === 0) return undefined;
  const reason = ended.reason ?? "Error";
  return failing(
    reason,
    `container ${name} ended with ${ended.exitCode} (${reason}) and was restarted ${restartCount} times`,
  );
}

function onTheWay({ name, started, state }: ContainerStatus): Holdup | undefined {
  if (state?.running) {
    if (started !== false) return undefined;
    return coming("StartupProbePending", `container ${name} has not passed its startup probe yet`);
  }
  const { reason, message } = state?.waiting ?? {};
  if (!reason) return undefined;
  return coming(reason, `container ${name}: ${reason}${message ? `: ${message}` : ""}`);
}

function notReady(pod: Pod): Holdup | undefined {
  const ready = conditionOf(pod, "Ready");
  if (ready?.status !== "False") return undefined;
  return coming(ready.reason ?? "PodNotReady", ready.message ?? "is not ready");
}

function waitingOut(pod: Pod, minReadySeconds: number, now: number): Holdup | undefined {
  if (!availableInMs(pod, minReadySeconds, now)) return undefined;
  return coming("MinReadySeconds", `has been ready for less than ${minReadySeconds} s`);
}

function containersOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

function firstOf<T>(items: readonly T[], find: (item: T) => Holdup | undefined): Holdup | undefined {
  for (const item of items) {
    const found = find(item);
    if (found) return found;
  }
  return undefined;
}

function coming(reason: string, message: string): Holdup {
  return { kind: "coming", reason, message };
}

function failing(reason: string, message: string): Holdup {
  return { kind: "failing", reason, message };
}
