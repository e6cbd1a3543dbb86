// Clauses: 3541-11
import { conditionOf } from "../api/meta/object-facts.ts";
import type { Container, Pod } from "../api/meta/objects.ts";
import {
  availableInMs,
  hasEnded,
  isCreated,
  isRunningAndReady,
  isTerminating,
} from "../api/pod/pod-state.ts";
import { podHealth } from "./pod-health.ts";

/** How far a pod of a StatefulSet has come with its start. */
export type StartState =
  /** Ready for at least minReadySeconds. */
  | { readonly kind: "available" }
  /** Nothing has failed and the budget is not used up. `untilMs` is when it will be, where that is known. */
  | { readonly kind: "starting"; readonly untilMs?: number }
  | { readonly kind: "terminating" }
  /** A container or the sandbox fails, or the pod cannot start. */
  | { readonly kind: "broken" }
  /** Nothing has failed, but the budget is used up. */
  | { readonly kind: "overdue" };

interface StartOptions {
  readonly minReadySeconds: number;
  /** Time that a pod has to become Ready after its last step forward. A longer startup probe extends it. */
  readonly progressDeadlineMs: number;
  readonly now: number;
}

/** Returns the start state of a pod. One that is still to be created is starting. */
export function startState(pod: Pod, { minReadySeconds, progressDeadlineMs, now }: StartOptions): StartState {
  if (!isCreated(pod)) return { kind: "starting" };
  if (isTerminating(pod)) return { kind: "terminating" };
  // The controller deletes a pod that has ended as soon as it sees it.
  if (hasEnded(pod)) return wasRejected(pod) ? { kind: "broken" } : { kind: "terminating" };
  if (isRunningAndReady(pod)) {
    const waitMs = availableInMs(pod, minReadySeconds, now);
    if (waitMs === 0) return { kind: "available" };
    return { kind: "starting", untilMs: waitMs && now + waitMs };
  }
  if (podHealth(pod, { minReadySeconds, now }).kind !== "progressing") return { kind: "broken" };
  const untilMs = budgetEnd(pod, progressDeadlineMs);
  return now < untilMs ? { kind: "starting", untilMs } : { kind: "overdue" };
}

/** Whether the kubelet rejected the pod. It may reject every pod that is created after it. */
function wasRejected({ status }: Pod): boolean {
  return status?.phase === "Failed" && !status.containerStatuses?.length;
}

function budgetEnd(pod: Pod, progressDeadlineMs: number): number {
  return Math.max(lastProgress(pod) + progressDeadlineMs, ...startupProbeEnds(pod));
}

const steps = ["PodScheduled", "PodReadyToStartContainers", "Initialized"];

/** Time of the pod's last progress. The condition Ready is ignored, because it also changes when a probe fails. */
function lastProgress(pod: Pod): number {
  const reached = steps.map((type) => conditionOf(pod, type)).filter((step) => step?.status === "True");
  const times = [
    pod.metadata.creationTimestamp,
    ...reached.map((step) => step?.lastTransitionTime),
    // A restart is not progress.
    ...containersOf(pod).map(({ startedAt, restartCount }) => (restartCount ? undefined : startedAt)),
  ];
  return Math.max(...times.map(parseTime));
}

/** Times at which the startup probes of running containers that have not passed them run out of attempts. */
function startupProbeEnds(pod: Pod): readonly number[] {
  return containersOf(pod).flatMap(({ container, startedAt, started }) => {
    const { startupProbe: probe } = container;
    if (!probe || startedAt === undefined || started) return [];
    const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 } = probe;
    const seconds = initialDelaySeconds + periodSeconds * failureThreshold + timeoutSeconds;
    return [parseTime(startedAt) + seconds * 1_000];
  });
}

interface RunningContainer {
  readonly container: Container;
  readonly startedAt?: string;
  readonly started?: boolean;
  readonly restartCount?: number;
}

function containersOf({ spec, status }: Pod): readonly RunningContainer[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const byName = new Map(statuses.map((container) => [container.name, container]));
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map((container) => {
    const { state, started, restartCount } = byName.get(container.name) ?? {};
    return { container, startedAt: state?.running?.startedAt, started, restartCount };
  });
}

function parseTime(time: string | undefined): number {
  const ms = Date.parse(time ?? "");
  return Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms;
}
