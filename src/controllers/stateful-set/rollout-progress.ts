// Clauses: 3541-12
import { isEqual } from "../../api/meta/is-equal.ts";
import type { StatefulSet } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { isCreated, isRunningAndReady } from "../../api/pod/pod-state.ts";
import { isDue } from "./decide-replicas.ts";
import type { Rollout } from "./rollout.ts";
import type { ProgressRecord } from "./stateful-set-facts.ts";

/** Annotation of a StatefulSet with its ProgressRecord as JSON, until the rollout is complete. Only the controller writes it. */
const progressRecordAnnotation = "kindling.dev/rollout-progress";

/** Returns the record for the current set and pods. */
export function decideProgressRecord(rollout: Rollout): ProgressRecord {
  const { set, now } = rollout.facts;
  const { uid = "", generation = 0 } = set.metadata;
  const stored = readProgressRecord(set);
  const best = progressOf(rollout);
  const continues = stored?.generation === generation && Date.parse(stored.time) <= now;
  if (continues && !exceeds(best, stored.best)) return stored;
  return { uid, generation, best, time: formatTime(now) };
}

/** Progress of a rollout as numbers that grow, most significant first. */
function progressOf(rollout: Rollout): readonly number[] {
  const { replicas, condemned, isUnavailable } = rollout;
  const created = replicas.filter(isCreated);
  const old = created.filter((pod) => isDue(rollout, pod)).length;
  return [
    -condemned.length,
    -old,
    created.length - old,
    created.filter(isRunningAndReady).length,
    created.filter((pod) => !isUnavailable(pod)).length,
  ];
}

function exceeds(progress: readonly number[], best: readonly number[]): boolean {
  const index = progress.findIndex((value, at) => value !== best[at]);
  return index >= 0 && Number(progress[index]) > Number(best[index] ?? Number.NEGATIVE_INFINITY);
}

/** Difference to the clock of the API server that is tolerated. */
const clockSkewMs = 10_000;

/**
 * Returns the time at which the rollout exceeds its deadline. Pods that are starting extend it, unless they were created
 * after the last progress: a pod that is recreated over and over would extend it forever.
 */
export function deadlineOf(
  { facts, replicas, progressDeadlineMs, startState }: Rollout,
  { time }: ProgressRecord,
): number {
  const progressedAt = Date.parse(time);
  const deadline = progressedAt + progressDeadlineMs;
  if (facts.now < deadline) return deadline;
  const extended = replicas.flatMap((pod) => {
    const state = startState(pod);
    if (state.kind !== "starting" || state.untilMs === undefined) return [];
    const createdAt = Date.parse(pod.metadata.creationTimestamp ?? "");
    return createdAt <= progressedAt + clockSkewMs ? [state.untilMs] : [];
  });
  return extended.reduce((latest, untilMs) => Math.max(latest, untilMs), deadline);
}

/** Returns the set with the record, or without one for `undefined`. Undefined if the set needs no change. */
export function withProgressRecord(
  set: StatefulSet,
  record: ProgressRecord | undefined,
): StatefulSet | undefined {
  const { [progressRecordAnnotation]: text, ...annotations } = set.metadata.annotations ?? {};
  const kept = record ? isEqual(record, readProgressRecord(set)) : text === undefined;
  if (kept) return undefined;
  const own = record && { [progressRecordAnnotation]: JSON.stringify(record) };
  return { ...set, metadata: { ...set.metadata, annotations: { ...annotations, ...own } } };
}

/** Undefined for a set without a record, and for one that was edited by hand or copied from another set. */
export function readProgressRecord({ metadata }: StatefulSet): ProgressRecord | undefined {
  const text = metadata.annotations?.[progressRecordAnnotation];
  if (text === undefined) return undefined;
  const record = parse(text);
  return isProgressRecord(record) && record.uid === (metadata.uid ?? "") ? record : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProgressRecord(value: unknown): value is ProgressRecord {
  const { uid, generation, best, time } = (value ?? {}) as Partial<ProgressRecord>;
  return (
    typeof uid === "string" &&
    Number.isSafeInteger(generation) &&
    Array.isArray(best) &&
    best.every((number) => Number.isSafeInteger(number)) &&
    !Number.isNaN(Date.parse(String(time)))
  );
}
