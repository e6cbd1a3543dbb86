// Clauses: 3541-10
import { isEqual } from "../../api/meta/is-equal.ts";
import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { isRunningAndReady } from "../../api/pod/pod-state.ts";
import { ordinalOf, ordinalsOf, revisionOf } from "./pod-identity.ts";
import type { StatefulSetFacts } from "./stateful-set-facts.ts";

/** Annotation of a StatefulSet with its UpdateRecord as JSON. Only the controller writes it. */
export const updateRecordAnnotation = "kindling.dev/update-progress";

/** Range of consecutive ordinals: `replicas` of them from `start` on. */
interface OrdinalRange {
  readonly start: number;
  readonly replicas: number;
}

/** FirstRollout is the progress of a set until each of its pods was Ready once. */
interface FirstRollout {
  /** Ordinals that the set asks for. A later change of the template may change their number too. */
  readonly wanted: OrdinalRange;
  /** Ordinals of pods that were Ready since the last change of the template or at that time, in ascending order. */
  readonly ready: readonly OrdinalRange[];
}

/**
 * UpdateRecord is the progress of an EnforcedRollingUpdate that the pods alone do not show. It is stored on the set
 * before the controller acts on it, so that a restarted controller decides in the same way.
 *
 *     new update revision:  initialOrdinals := ordinals, frontier := their end
 *     pod below the frontier is Ready in the update revision:  frontier moves down
 */
export interface UpdateRecord {
  /** UID of the set. A record in a copied manifest belongs to another set and is ignored. */
  readonly uid: string;
  /** The update revision. Its number distinguishes a rollback to a revision from an earlier update to it. */
  readonly revision: { readonly name: string; readonly number: number };
  /** Ordinals that the set had when the update began, without those that were scaled down since. */
  readonly initialOrdinals: OrdinalRange;
  /** Lowest ordinal such that it and every larger initial ordinal became Ready in the update revision. */
  readonly frontier: number;
  /** Ordinals that the set has now: none during its first rollout. The next update begins with them. */
  readonly ordinals: OrdinalRange;
  /** Undefined once the first rollout is finished. */
  readonly firstRollout?: FirstRollout;
}

/** Maximum number of ranges in a record, which bounds its size. Pods of further ones have to be Ready again. */
const maxReadyRanges = 100;

/** Returns the record for the current set and pods. */
export function decideUpdateRecord(facts: StatefulSetFacts): UpdateRecord {
  const { set, update } = facts;
  const { uid = "" } = set.metadata;
  const stored = readUpdateRecord(set);
  const ordinals = currentOrdinals(facts, stored);
  const revision = { name: update.name, number: update.number };
  if (!stored || !isSameUpdate(stored, revision)) {
    const frontier = advance(facts, ordinals, endOf(ordinals));
    const firstRollout = ordinals.replicas === 0 ? firstRolloutOf(facts, []) : undefined;
    return { uid, revision, initialOrdinals: ordinals, frontier, ordinals, firstRollout };
  }
  const initialOrdinals = clip(stored.initialOrdinals, desiredOrdinals(set));
  const reached = Math.min(stored.frontier, endOf(initialOrdinals));
  const frontier = advance(facts, initialOrdinals, reached);
  const firstRollout =
    ordinals.replicas === 0 ? firstRolloutOf(facts, stored.firstRollout?.ready ?? []) : undefined;
  return { ...stored, initialOrdinals, frontier, ordinals, firstRollout };
}

/** Whether the rollout has reached the ordinal, so that its pod gets the update revision. */
export function isReached({ initialOrdinals, frontier }: UpdateRecord, ordinal: number): boolean {
  const { start } = initialOrdinals;
  return ordinal >= frontier || ordinal < start || ordinal >= endOf(initialOrdinals);
}

/** Returns the set with the record, or without one for `undefined`. Undefined if the set needs no change. */
export function withUpdateRecord(
  set: StatefulSet,
  record: UpdateRecord | undefined,
): StatefulSet | undefined {
  const { [updateRecordAnnotation]: text, ...annotations } = set.metadata.annotations ?? {};
  const kept = record ? isEqual(record, readUpdateRecord(set)) : text === undefined;
  if (kept) return undefined;
  const own = record && { [updateRecordAnnotation]: JSON.stringify(record) };
  return { ...set, metadata: { ...set.metadata, annotations: { ...annotations, ...own } } };
}

/** The informer may lag behind a renumbered revision, so a smaller number is the same update. */
function isSameUpdate(stored: UpdateRecord, { name, number }: UpdateRecord["revision"]): boolean {
  return stored.revision.name === name && number <= stored.revision.number;
}

/**
 * A set whose first rollout never finished has no ordinals, because its current revision never worked. A set without a
 * record (from an earlier version, another strategy, or after `kubectl replace`) is assumed to have all that it asks for.
 */
function currentOrdinals(facts: StatefulSetFacts, stored: UpdateRecord | undefined): OrdinalRange {
  const { set, pods } = facts;
  const desired = desiredOrdinals(set);
  const own = pods.filter((pod) => contains(desired, ordinalOf(pod)));
  const recorded = clip(stored?.ordinals ?? (set.status?.currentRevision ? desired : none), desired);
  const known = recorded.replicas > 0 ? recorded : finishedOrdinals(facts, stored?.firstRollout);
  if (known.replicas === 0) return none;
  let [start, end] = [known.start, endOf(known)];
  for (const pod of own) {
    start = Math.min(start, ordinalOf(pod));
    end = Math.max(end, ordinalOf(pod) + 1);
  }
  return { start, replicas: end - start };
}

/**
 * Ordinals of a finished first rollout, else none. A controller that was stopped did not record the last Ready pods, so
 * the rollout is judged by what it asked for then: the set may ask for more since, with another template.
 */
function finishedOrdinals(facts: StatefulSetFacts, first: FirstRollout | undefined): OrdinalRange {
  const desired = desiredOrdinals(facts.set);
  const ready = readyRanges(facts.pods, first?.ready ?? []);
  const isReady = ({ start, replicas }: OrdinalRange) =>
    replicas > 0 && ready.some((range) => range.start <= start && endOf(range) >= start + replicas);
  return [desired, clip(first?.wanted ?? none, desired)].find(isReady) ?? none;
}

function firstRolloutOf({ set, pods }: StatefulSetFacts, before: readonly OrdinalRange[]): FirstRollout {
  const wanted = desiredOrdinals(set);
  const ready = readyRanges(pods, before)
    .map((range) => clip(range, wanted))
    .filter(({ replicas }) => replicas > 0);
  return { wanted, ready: ready.slice(0, maxReadyRanges) };
}

/** Ranges of the ordinals that were Ready before or are Ready now. */
function readyRanges(pods: readonly Pod[], before: readonly OrdinalRange[]): readonly OrdinalRange[] {
  const now = pods.filter(isRunningAndReady).map((pod) => ({ start: ordinalOf(pod), replicas: 1 }));
  const merged: OrdinalRange[] = [];
  for (const range of [...before, ...now].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (!last || range.start > endOf(last)) merged.push(range);
    else
      merged[merged.length - 1] = {
        start: last.start,
        replicas: Math.max(endOf(last), endOf(range)) - last.start,
      };
  }
  return merged;
}

function advance({ pods, update }: StatefulSetFacts, initial: OrdinalRange, from: number): number {
  const isUpdated = (pod: Pod) => revisionOf(pod) === update.name && isRunningAndReady(pod);
  const updated = new Set(pods.filter(isUpdated).map(ordinalOf));
  let frontier = from;
  while (frontier > initial.start && updated.has(frontier - 1)) frontier--;
  return frontier;
}

const none: OrdinalRange = { start: 0, replicas: 0 };

function endOf({ start, replicas }: OrdinalRange): number {
  return start + replicas;
}

function contains(range: OrdinalRange, ordinal: number): boolean {
  return ordinal >= range.start && ordinal < endOf(range);
}

function desiredOrdinals(set: StatefulSet): OrdinalRange {
  const { first, last } = ordinalsOf(set);
  return { start: first, replicas: last - first + 1 };
}

function clip(range: OrdinalRange, limits: OrdinalRange): OrdinalRange {
  const start = Math.max(range.start, limits.start);
  const replicas = Math.min(endOf(range), endOf(limits)) - start;
  return replicas > 0 ? { start, replicas } : none;
}

/** Undefined for a set without a record, and for one that was edited by hand or copied from another set. */
function readUpdateRecord({ metadata }: StatefulSet): UpdateRecord | undefined {
  const text = metadata.annotations?.[updateRecordAnnotation];
  if (text === undefined) return undefined;
  const record = parse(text);
  return isUpdateRecord(record) && record.uid === metadata.uid ? record : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isUpdateRecord(value: unknown): value is UpdateRecord {
  const record = (value ?? {}) as Partial<UpdateRecord>;
  const { uid, revision, initialOrdinals, frontier, ordinals, firstRollout } = record;
  const numbers = [revision?.number, frontier];
  const first: unknown = firstRollout?.ready;
  const ranges = firstRollout ? [firstRollout.wanted, ...(Array.isArray(first) ? first : [undefined])] : [];
  for (const range of [initialOrdinals, ordinals, ...ranges]) numbers.push(range?.start, range?.replicas);
  return (
    typeof uid === "string" &&
    typeof revision?.name === "string" &&
    numbers.every((number) => Number.isSafeInteger(number) && Number(number) >= 0)
  );
}
