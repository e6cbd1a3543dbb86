import { isEqual } from "../../api/meta/is-equal.ts";
import { createHeap } from "../../lib/heap.ts";
import type { PluginName } from "../filters/filter.ts";
import type { PodInfo } from "../model/pod-info.ts";
import type { Hints } from "./queueing-hints.ts";
import type { Attempt, PendingPods } from "./scheduling-metrics.ts";

/**
 * State of a pod in the queue:
 *
 *               ┌──────────────── in flight ◀── pop ──┬─────────────┐
 *      no node  │            error │                  │             │ when no pod is active
 *               ▼                  ▼       time       │             │
 *        unschedulable ──▶ (backing off) ─────────▶ active          │
 *               │   a change may help, back-off not over            │
 *               └──────────▶ backing off ───────────────────────────┘
 *      Gated pods stay gated until their scheduling gates are removed.
 */
type Place =
  | { readonly kind: "gated" | "inFlight" | "active" }
  | { readonly kind: "backingOff"; readonly until: number; readonly after: "rejection" | "error" }
  | { readonly kind: "unschedulable"; readonly since: number; readonly rejectedBy: ReadonlySet<PluginName> };

/** Pod in the queue, with its attempts. */
export interface QueuedPod extends Attempt {
  readonly info: PodInfo;
}

interface Entry {
  info: PodInfo;
  place: Place;
  /** Position among pods of equal priority. A requeued pod moves to the end. */
  sequence: number;
  attempts: number;
  firstAttemptAt: number;
  attemptedAt: number;
}

/** Plugins that rejected the pod; undefined when the attempt failed with an error. */
export type Outcome = { readonly rejectedBy: ReadonlySet<PluginName> } | undefined;

export interface SchedulingQueue {
  /** Adds or updates a pod. */
  put(info: PodInfo): void;
  remove(uid: string): void;
  /** Removes the next pod and marks it in flight until `remove` or `requeue`. */
  pop(now: number): QueuedPod | undefined;
  requeue(uid: string, outcome: Outcome, now: number): void;
  /** Requeues unschedulable pods that a change may make schedulable. */
  applyHints(hints: Hints, now: number): void;
  /** Time of the next back-off or flush, 0 when a pod is active, Infinity when only a change can add one. */
  nextAt(): number;
  has(uid: string): boolean;
  /** Number of pods by state, without those in flight. */
  pending(): PendingPods;
}

const firstBackoffMs = 1_000;
const maxBackoffMs = 10_000;
/** Unschedulable pods are retried after this time even without a change (as upstream). */
const maxUnschedulableMs = 300_000;

export function createSchedulingQueue(): SchedulingQueue {
  const entries = new Map<string, Entry>();
  const active = createHeap<HeapItem>(
    ({ entry: a, sequence: x }, { entry: b, sequence: y }) =>
      a.info.priority > b.info.priority || (a.info.priority === b.info.priority && x < y),
  );
  const backingOff = { rejection: createHeap(isSooner), error: createHeap(isSooner) };
  /** Oldest first. */
  const unschedulable = new Map<string, Entry>();
  let nextSequence = 0;

  function activate(entry: Entry): void {
    entry.place = { kind: "active" };
    entry.sequence = nextSequence++;
    active.push({ entry, sequence: entry.sequence, until: 0 });
  }

  function backOff(entry: Entry, after: "rejection" | "error", now: number): void {
    const until = entry.attemptedAt + backoffMs(entry.attempts);
    if (until <= now) {
      activate(entry);
      return;
    }
    entry.sequence = nextSequence++;
    entry.place = { kind: "backingOff", until, after };
    backingOff[after].push({ entry, sequence: entry.sequence, until });
  }

  function reconsider(entry: Entry, now: number): void {
    unschedulable.delete(entry.info.uid);
    backOff(entry, "rejection", now);
  }

  /** First entry of a heap that is still valid. */
  function first(heap: typeof active): HeapItem | undefined {
    for (let item = heap.peek(); item; item = heap.peek()) {
      if (isValid(item)) return item;
      heap.pop();
    }
    return undefined;
  }

  function isValid({ entry, sequence }: HeapItem): boolean {
    return (
      entries.get(entry.info.uid) === entry && entry.sequence === sequence && entry.place.kind !== "inFlight"
    );
  }

  function release(now: number): void {
    for (const heap of [backingOff.rejection, backingOff.error]) {
      for (let item = first(heap); item && item.until <= now; item = first(heap)) {
        heap.pop();
        activate(item.entry);
      }
    }
    for (const entry of unschedulable.values()) {
      if (entry.place.kind === "unschedulable" && entry.place.since + maxUnschedulableMs > now) break;
      reconsider(entry, now);
    }
  }

  function popFrom(heap: typeof active, now: number): QueuedPod | undefined {
    const item = first(heap);
    if (!item) return undefined;
    heap.pop();
    const { entry } = item;
    entry.place = { kind: "inFlight" };
    if (entry.attempts === 0) entry.firstAttemptAt = now;
    entry.attempts++;
    entry.attemptedAt = now;
    return entry;
  }

  return {
    put(info) {
      const known = entries.get(info.uid);
      if (!known) {
        const untried = { attempts: 0, firstAttemptAt: 0, attemptedAt: 0 };
        const entry: Entry = { info, place: { kind: "gated" }, sequence: -1, ...untried };
        entries.set(info.uid, entry);
        if (!isGated(info)) activate(entry);
        return;
      }
      const isDifferent = changesScheduling(known.info, info);
      known.info = info;
      if (
        known.place.kind === "gated" ? !isGated(info) : isDifferent && known.place.kind === "unschedulable"
      ) {
        unschedulable.delete(info.uid);
        activate(known);
      }
    },
    remove(uid) {
      entries.delete(uid);
      unschedulable.delete(uid);
    },
    pop(now) {
      release(now);
      // When idle, pods in back-off after a rejection are tried early (upstream: SchedulerPopFromBackoffQ).
      return popFrom(active, now) ?? popFrom(backingOff.rejection, now);
    },
    requeue(uid, outcome, now) {
      const entry = entries.get(uid);
      if (entry?.place.kind !== "inFlight") return;
      if (outcome) {
        entry.place = { kind: "unschedulable", since: now, rejectedBy: outcome.rejectedBy };
        unschedulable.set(uid, entry);
      } else {
        backOff(entry, "error", now);
      }
    },
    applyHints(hints, now) {
      for (const entry of unschedulable.values()) {
        if (entry.place.kind === "unschedulable" && isHelped(entry.info, entry.place.rejectedBy, hints)) {
          reconsider(entry, now);
        }
      }
    },
    nextAt() {
      const [oldest] = unschedulable.values();
      const flushAt =
        oldest?.place.kind === "unschedulable" ? oldest.place.since + maxUnschedulableMs : never;
      const ends = [backingOff.rejection, backingOff.error].map((heap) => first(heap)?.until ?? never);
      return first(active) ? 0 : Math.min(flushAt, ...ends);
    },
    has: (uid) => entries.has(uid),
    pending() {
      const counts = { active: 0, backingOff: 0, unschedulable: 0, gated: 0, inFlight: 0 };
      for (const { place } of entries.values()) counts[place.kind]++;
      const { active, backingOff: backoff, unschedulable, gated } = counts;
      return { active, backoff, unschedulable, gated };
    },
  };
}

const never = Number.POSITIVE_INFINITY;

/** Heap item. It is stale when the pod's sequence number has changed since. */
interface HeapItem {
  readonly entry: Entry;
  readonly sequence: number;
  readonly until: number;
}

function isSooner(a: HeapItem, b: HeapItem): boolean {
  return a.until < b.until || (a.until === b.until && a.sequence < b.sequence);
}

function backoffMs(attempts: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** (Math.max(1, attempts) - 1));
}

/** A pod without rejecting plugins may be helped by any change. */
function isHelped(info: PodInfo, rejectedBy: ReadonlySet<PluginName>, hints: Hints): boolean {
  if (rejectedBy.size === 0) return true;
  for (const plugin of rejectedBy) if (hints[plugin]?.(info)) return true;
  return false;
}

function isGated({ pod }: PodInfo): boolean {
  return Boolean(pod.spec?.schedulingGates?.length);
}

/** Reports whether an update can change schedulability. Status updates cannot. */
function changesScheduling({ pod: before }: PodInfo, { pod: after }: PodInfo): boolean {
  const [old, now] = [before.metadata, after.metadata];
  return (
    !isEqual(old.labels, now.labels) ||
    !isEqual(old.annotations, now.annotations) ||
    !isEqual(before.spec, after.spec)
  );
}
