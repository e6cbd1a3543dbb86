// Clauses: 950-9
import type { Container, Pod } from "../../api/meta/objects.ts";
import { workloadOf } from "../../api/pod/pod-state.ts";
import { allowedStartSeconds } from "../../api/pod/startup-budget.ts";
import { createLruMap } from "../../lib/lru-map.ts";

/** Proposed startup probe, from observed start durations of a container. */
export interface StartupProbeAdvice {
  readonly periodSeconds: number;
  readonly failureThreshold: number;
  readonly slowestSeconds: number;
  /** Explanation for users. */
  readonly reason: string;
}

/** With fewer observations, the slowest start is not representative. */
const minObservations = 3;
const maxPeriodSeconds = 10;
const minBudgetSeconds = 30;

/**
 * Proposes a startup probe from the durations between the start of a container and its first successful startup probe:
 * - The period is a tenth of the median, from 1 to 10 s, so the probe delays a usual start by about a tenth.
 * - The budget is three times the slowest start and at least 30 s, so a cold cache or a busy node causes no restart, and a
 *   deadlock is still detected within a few usual starts.
 * - The threshold is the budget in periods, plus one for the probe at the start.
 */
export function adviseStartupProbe(startDurationsMs: readonly number[]): StartupProbeAdvice | undefined {
  const sorted = startDurationsMs.filter((ms) => Number.isFinite(ms) && ms >= 0).sort((a, b) => a - b);
  const slowestMs = sorted.at(-1);
  const medianMs = sorted[Math.floor(sorted.length / 2)];
  if (sorted.length < minObservations || slowestMs === undefined || medianMs === undefined) return undefined;

  const periodSeconds = Math.min(maxPeriodSeconds, Math.max(1, Math.round(medianMs / 10_000)));
  const budgetSeconds = Math.max(minBudgetSeconds, (3 * slowestMs) / 1_000);
  const failureThreshold = Math.ceil(budgetSeconds / periodSeconds) + 1;
  const reason =
    `${sorted.length} starts took ${seconds(medianMs)} (median) to ${seconds(slowestMs)} (slowest): ` +
    `probing every ${periodSeconds} s, ${(failureThreshold - 1) * periodSeconds} s are allowed before a restart`;
  return { periodSeconds, failureThreshold, slowestSeconds: slowestMs / 1_000, reason };
}

/**
 * Drops a proposal for a container that has not started if it does not exceed the time that the container already has: the
 * start that is under way may be slower than all earlier ones.
 */
export function withoutSmallerBudget(
  advice: StartupProbeAdvice | undefined,
  { container, started }: { readonly container: Container; readonly started: boolean },
): StartupProbeAdvice | undefined {
  if (!advice || started) return advice;
  const proposedSeconds = advice.periodSeconds * (advice.failureThreshold - 1);
  return proposedSeconds > (allowedStartSeconds(container) ?? 0) ? advice : undefined;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** Start durations of containers on this node since the kubelet started. */
export interface StartTimes {
  add(pod: Pod, container: Container, tookMs: number): void;
  /** Durations, newest last. */
  of(pod: Pod, container: Container): readonly number[];
}

/** Maximum number of workload, container and image combinations. The least recently used are removed. */
const maxKeys = 500;
const maxDurationsPerKey = 50;

/** Creates the store. Containers of one workload with the same name and image share durations. */
export function createStartTimes(): StartTimes {
  const kinds = createLruMap<readonly number[]>(maxKeys);
  const keyOf = (pod: Pod, { name, image = "" }: Container) =>
    `${pod.metadata.namespace} ${workloadOf(pod)} ${name} ${image}`;
  return {
    add(pod, container, tookMs) {
      const key = keyOf(pod, container);
      kinds.set(key, [...(kinds.get(key) ?? []), tookMs].slice(-maxDurationsPerKey));
    },
    of: (pod, container) => kinds.get(keyOf(pod, container)) ?? [],
  };
}
