import { isEqual } from "../api/is-equal.ts";
import { createHeap } from "../lib/heap.ts";
import type { PluginName } from "./filter/filter.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Attempt, PendingPods } from "./scheduling-metrics.ts";
import type { Hints } from "./wake-hints.ts";

/**
 *               ┌───────────────── in hand ◀── take ──┬─────────────┐
 *      no node  │            error │                  │             │ when nothing else is to do
 *               ▼                  ▼       time       │             │
 *        unschedulable ──▶ (backing off) ─────────▶ active          │
 *               │   something may help, too soon                    │
 *               └──────────▶ backing off ───────────────────────────┘
 *      gated pods wait for their gates to go.
 */
type Place =
  | { readonly kind: "gated" | "inHand" | "active" }
  | { readonly kind: "backingOff"; readonly until: number; readonly after: "rejection" | "error" }
  | { readonly kind: "unschedulable"; readonly since: number; readonly rejectedBy: ReadonlySet<PluginName> };

/** A pod without a node. */
export interface QueuedPod extends Attempt {
  readonly info: PodInfo;
}

interface Entry {
  info: PodInfo;
  place: Place;
  /** Those that came first go first; a pod that failed stands at the end again. */
  turn: number;
  attempts: number;
  firstTriedAt: number;
  triedAt: number;
}

/** Who turned a pod away, or undefined when trying itself failed. */
export type Outcome = { readonly rejectedBy: ReadonlySet<PluginName> } | undefined;

export interface SchedulingQueue {
  /** A pod that is new, or that changed. */
  put(info: PodInfo): void;
  remove(uid: string): void;
  /** The most important pod that may be tried; it is in hand until `remove` or `giveBack`. */
  take(now: number): QueuedPod | undefined;
  giveBack(uid: string, outcome: Outcome, now: number): void;
  /** Lets pods be tried again that a change may help. */
  wake(hints: Hints, now: number): void;
  /** When there is something to take at the latest; Infinity when only a change can bring it. */
  nextAt(): number;
  has(uid: string): boolean;
  /** How many pods wait where, without those in hand. */
  pending(): PendingPods;
}

const firstBackoffMs = 1_000;
const maxBackoffMs = 10_000;
/** So long a pod waits for something to change: whatever was missed is made good then. */
const patienceMs = 300_000;

export function createSchedulingQueue(): SchedulingQueue {
  const entries = new Map<string, Entry>();
  const active = createHeap<Ticket>(
    ({ entry: a, turn: x }, { entry: b, turn: y }) =>
      a.info.priority > b.info.priority || (a.info.priority === b.info.priority && x < y),
  );
  const backingOff = { rejection: createHeap(isSooner), error: createHeap(isSooner) };
  /** In the order in which they came: the oldest first. */
  const unschedulable = new Map<string, Entry>();
  let turns = 0;

  function activate(entry: Entry): void {
    entry.place = { kind: "active" };
    entry.turn = turns++;
    active.push({ entry, turn: entry.turn, until: 0 });
  }

  function backOff(entry: Entry, after: "rejection" | "error", now: number): void {
    const until = entry.triedAt + backoffMs(entry.attempts);
    if (until <= now) {
      activate(entry);
      return;
    }
    entry.turn = turns++;
    entry.place = { kind: "backingOff", until, after };
    backingOff[after].push({ entry, turn: entry.turn, until });
  }

  function reconsider(entry: Entry, now: number): void {
    unschedulable.delete(entry.info.uid);
    backOff(entry, "rejection", now);
  }

  /** The first of a heap that has not left it meanwhile. */
  function first(heap: typeof active): Ticket | undefined {
    for (let ticket = heap.peek(); ticket; ticket = heap.peek()) {
      if (isValid(ticket)) return ticket;
      heap.pop();
    }
    return undefined;
  }

  function isValid({ entry, turn }: Ticket): boolean {
    return entries.get(entry.info.uid) === entry && entry.turn === turn && entry.place.kind !== "inHand";
  }

  function release(now: number): void {
    for (const heap of [backingOff.rejection, backingOff.error]) {
      for (let ticket = first(heap); ticket && ticket.until <= now; ticket = first(heap)) {
        heap.pop();
        activate(ticket.entry);
      }
    }
    for (const entry of unschedulable.values()) {
      if (entry.place.kind === "unschedulable" && entry.place.since + patienceMs > now) break;
      reconsider(entry, now);
    }
  }

  function takeFrom(heap: typeof active, now: number): QueuedPod | undefined {
    const ticket = first(heap);
    if (!ticket) return undefined;
    heap.pop();
    const { entry } = ticket;
    entry.place = { kind: "inHand" };
    if (entry.attempts === 0) entry.firstTriedAt = now;
    entry.attempts++;
    entry.triedAt = now;
    return entry;
  }

  return {
    put(info) {
      const known = entries.get(info.uid);
      if (!known) {
        const untried = { attempts: 0, firstTriedAt: 0, triedAt: 0 };
        const entry: Entry = { info, place: { kind: "gated" }, turn: -1, ...untried };
        entries.set(info.uid, entry);
        if (!isGated(info)) activate(entry);
        return;
      }
      const isDifferent = asksDifferently(known.info, info);
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
    take(now) {
      release(now);
      // Nothing else to do: a pod that something may help need not wait.
      return takeFrom(active, now) ?? takeFrom(backingOff.rejection, now);
    },
    giveBack(uid, outcome, now) {
      const entry = entries.get(uid);
      if (entry?.place.kind !== "inHand") return;
      if (outcome) {
        entry.place = { kind: "unschedulable", since: now, rejectedBy: outcome.rejectedBy };
        unschedulable.set(uid, entry);
      } else {
        backOff(entry, "error", now);
      }
    },
    wake(hints, now) {
      for (const entry of unschedulable.values()) {
        if (entry.place.kind === "unschedulable" && isHelped(entry.info, entry.place.rejectedBy, hints)) {
          reconsider(entry, now);
        }
      }
    },
    nextAt() {
      const [oldest] = unschedulable.values();
      const flushAt = oldest?.place.kind === "unschedulable" ? oldest.place.since + patienceMs : never;
      const ends = [backingOff.rejection, backingOff.error].map((heap) => first(heap)?.until ?? never);
      return first(active) ? 0 : Math.min(flushAt, ...ends);
    },
    has: (uid) => entries.has(uid),
    pending() {
      const counts = { active: 0, backingOff: 0, unschedulable: 0, gated: 0, inHand: 0 };
      for (const { place } of entries.values()) counts[place.kind]++;
      const { active, backingOff: backoff, unschedulable, gated } = counts;
      return { active, backoff, unschedulable, gated };
    },
  };
}

const never = Number.POSITIVE_INFINITY;

/** A place in a heap. It is void when its pod has meanwhile taken another turn. */
interface Ticket {
  readonly entry: Entry;
  readonly turn: number;
  readonly until: number;
}

function isSooner(a: Ticket, b: Ticket): boolean {
  return a.until < b.until || (a.until === b.until && a.turn < b.turn);
}

function backoffMs(attempts: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** (Math.max(1, attempts) - 1));
}

/** Nobody in particular turned it away: then anything may help. */
function isHelped(info: PodInfo, rejectedBy: ReadonlySet<PluginName>, hints: Hints): boolean {
  if (rejectedBy.size === 0) return true;
  for (const plugin of rejectedBy) if (hints[plugin]?.(info)) return true;
  return false;
}

function isGated({ pod }: PodInfo): boolean {
  return Boolean(pod.spec?.schedulingGates?.length);
}

/** Whether a pod wants something else than before. What is written about it in its status does not count. */
function asksDifferently({ pod: before }: PodInfo, { pod: after }: PodInfo): boolean {
  const [old, now] = [before.metadata, after.metadata];
  return (
    !isEqual(old.labels, now.labels) ||
    !isEqual(old.annotations, now.annotations) ||
    !isEqual(before.spec, after.spec)
  );
}
