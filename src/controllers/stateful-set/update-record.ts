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
  /** Ordinals that the set has now: none before all of its pods were Ready once. The next update begins with them. */
  readonly ordinals: OrdinalRange;
}

/** Returns the record for the current set and pods. */
export function decideUpdateRecord(facts: StatefulSetFacts): UpdateRecord {
  const { set, update } = facts;
  const { uid = "" } = set.metadata;
  const stored = readUpdateRecord(set);
  const ordinals = currentOrdinals(facts, stored);
  const revision = { name: update.name, number: update.number };
  if (!stored || !isSameUpdate(stored, revision)) {
    const frontier = advance(facts, ordinals, endOf(ordinals));
    return { uid, revision, initialOrdinals: ordinals, frontier, ordinals };
  }
  const initialOrdinals = clip(stored.initialOrdinals, desiredOrdinals(set));
  const reached = Math.min(stored.frontier, endOf(initialOrdinals));
  const frontier = advance(facts, initialOrdinals, reached);
  return { ...stored, initialOrdinals, frontier, ordinals };
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
function currentOrdinals({ set, pods }: StatefulSetFacts, stored: UpdateRecord | undefined): OrdinalRange {
  const desired = desiredOrdinals(set);
  const own = pods.filter((pod) => contains(desired, ordinalOf(pod)));
  const known = clip(stored?.ordinals ?? (set.status?.currentRevision ? desired : none), desired);
  if (known.replicas === 0) return own.filter(isRunningAndReady).length === desired.replicas ? desired : none;
  let [start, end] = [known.start, endOf(known)];
  for (const pod of own) {
    start = Math.min(start, ordinalOf(pod));
    end = Math.max(end, ordinalOf(pod) + 1);
  }
  return { start, replicas: end - start };
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
  const { uid, revision, initialOrdinals, frontier, ordinals } = (value ?? {}) as Partial<UpdateRecord>;
  const numbers = [revision?.number, frontier];
  for (const range of [initialOrdinals, ordinals]) numbers.push(range?.start, range?.replicas);
  return (
    typeof uid === "string" &&
    typeof revision?.name === "string" &&
    numbers.every((number) => Number.isSafeInteger(number) && Number(number) >= 0)
  );
}
