import { isMirrorPod } from "../../api/mirror-pod.ts";
import type { Event, Pod } from "../../api/objects.ts";
import { createRecentMap } from "../../client/recent-map.ts";
import { findStuck, isStuck } from "./find-stuck.ts";
import { followEvent } from "./follow-event.ts";
import { followGone } from "./follow-gone.ts";
import { followPod } from "./follow-pod.ts";
import { type ClassSources, classOf } from "./pod-class.ts";
import { hasInit } from "./read-pod.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";
import type { PodStart, StageName, StartSignal } from "./start-signal.ts";
import {
  currentStage,
  type Step,
  type Told,
  type TrackedStart,
  toPodStart,
  untracked,
} from "./tracked-start.ts";

/** Where a pod that starts is. */
export interface StartingPod {
  readonly start: PodStart;
  readonly stage: StageName;
  /** Longer there than the operator allows. */
  readonly stuck: boolean;
  /** Trimmed to what `explainPod` and `waterfall` read. */
  readonly pod: Pod;
  /** About this pod, the newest 20, oldest first. */
  readonly events: readonly Event[];
}

export type StartingChange =
  | { readonly kind: "changed"; readonly starting: StartingPod }
  /** Ready, ended or deleted. `finished` holds its start if it came to Ready. */
  | { readonly kind: "gone"; readonly uid: string; readonly finished: PodStart | undefined };

export interface TrackerDeps {
  readonly classes: ClassSources;
  readonly stuckAfterMs: number;
  readonly sinceMs: number;
  /** What the last run left, by uid. */
  readonly records: ReadonlyMap<string, string>;
  /** `record` undefined: the pod is gone. */
  readonly write: (uid: string, record: string | undefined, signals: readonly StartSignal[]) => void;
  readonly onStarting: (change: StartingChange) => void;
}

export interface StartTracker {
  podSeen(pod: Pod, options: SeenOptions): void;
  podGone(pod: Pod, options: SeenOptions): void;
  eventSeen(event: Event, now: number): void;
  /** Looks for pods that are stuck. */
  tick(now: number): void;
  /** Once all pods have been seen. Drops the records of pods that went while nobody looked, and says how many. */
  settle(): { readonly dropped: number };
  starting(now: number): Iterable<StartingPod>;
  finished(): readonly PodStart[];
}

interface SeenOptions {
  /** Whether nothing can have been missed since the pod was seen last, or since its creation. */
  readonly unbroken: boolean;
  readonly now: number;
}

interface Entry {
  pod: Pod;
  state: TrackedStart;
  /** Since when, at the latest, it has been in the stage where it is. */
  stageSeenMs: number;
  events: readonly Event[];
}

const mostFinished = 2_000;
const eventsKept = 20;
/** Pods of which an event came before the pod itself. */
const earlyPods = 1_000;
const earlyEvents = 5;

/** Keeps the state of every pod and carries each observation through the pure steps. */
export function createStartTracker(deps: TrackerDeps): StartTracker {
  const { sinceMs, stuckAfterMs } = deps;
  const entries = new Map<string, Entry>();
  const startingUids = new Set<string>();
  const early = createRecentMap<readonly Event[]>(earlyPods);
  const unseen = new Map(deps.records);
  /** The oldest first. */
  const finished: PodStart[] = [];

  function startOf({ pod, state }: Entry): PodStart {
    const { uid = "", namespace = "", name = "", creationTimestamp = "" } = pod.metadata;
    return toPodStart(state, {
      pod: { uid, namespace, name, node: pod.spec?.nodeName },
      class: classOf(pod, deps.classes),
      createdMs: Date.parse(creationTimestamp),
    });
  }

  function stageOf({ pod, state }: Entry): StageName {
    return currentStage(state, hasInit(pod));
  }

  function view(entry: Entry, now: number): StartingPod {
    const { pod, state, stageSeenMs, events } = entry;
    const stuck = isStuck(state, { pod, now, seenMs: stageSeenMs, stuckAfterMs });
    return { start: startOf(entry), stage: stageOf(entry), stuck, pod, events };
  }

  /** Takes a step: keeps the state, stores it if it differs, tells. */
  function take(uid: string, entry: Entry, { next, told }: Step, now: number): void {
    const before = entry.state;
    if (next === before) return;
    const stage = stageOf(entry);
    entry.state = next;
    if (stageOf(entry) !== stage) entry.stageSeenMs = now;
    const record = encodeRecord(next);
    if (record !== encodeRecord(before)) deps.write(uid, record, signalsOf(told, entry));
  }

  function signalsOf(told: readonly Told[], entry: Entry): readonly StartSignal[] {
    if (told.length === 0) return [];
    const start = startOf(entry);
    return told.map((each) => ({ ...each, start }));
  }

  /** Tells who follows the pods that start. */
  function show(uid: string, entry: Entry, now: number): void {
    const { outcome, ends } = entry.state;
    if (outcome === "starting") {
      startingUids.add(uid);
      deps.onStarting({ kind: "changed", starting: view(entry, now) });
      return;
    }
    entry.events = [];
    if (!startingUids.delete(uid)) return;
    const start = outcome === "ready" && ends.readiness !== undefined ? startOf(entry) : undefined;
    if (start) finished.push(start);
    // Not one by one: each time it would move all the others.
    if (finished.length > 2 * mostFinished) finished.splice(0, finished.length - mostFinished);
    deps.onStarting({ kind: "gone", uid, finished: start });
  }

  function applyEvent(uid: string, entry: Entry, event: Event, now: number): void {
    // Who may write events in one namespace must not speak about the pods of another.
    if (event.metadata.namespace !== entry.pod.metadata.namespace) return;
    if (entry.state.outcome === "starting") {
      const others = entry.events.filter(({ metadata }) => metadata.uid !== event.metadata.uid);
      entry.events = [...others, event].slice(-eventsKept);
    }
    take(uid, entry, followEvent(entry.state, event, { sinceMs }), now);
  }

  function podSeen(pod: Pod, { unbroken, now }: SeenOptions): void {
    const { uid } = pod.metadata;
    if (!uid || isMirrorPod(pod)) return;
    const known = entries.get(uid);
    const record = unseen.get(uid);
    const stored = record === undefined ? undefined : decodeRecord(record);
    unseen.delete(uid);
    const entry = known ?? { pod, state: stored ?? untracked, stageSeenMs: now, events: [] };
    entry.pod = pod;
    entries.set(uid, entry);
    const previous = known || stored ? entry.state : undefined;
    take(uid, entry, followPod(previous, { pod, unbroken, sinceMs }), now);
    if (!known) for (const event of early.get(uid) ?? []) applyEvent(uid, entry, event, now);
    show(uid, entry, now);
  }

  return {
    podSeen,

    podGone(pod, { unbroken, now }) {
      const { uid = "" } = pod.metadata;
      // What it says last may be news.
      if (entries.has(uid)) podSeen(pod, { unbroken, now });
      const entry = entries.get(uid);
      if (!entry) return;
      entries.delete(uid);
      deps.write(uid, undefined, signalsOf(followGone(entry.state, pod), entry));
      if (startingUids.delete(uid)) deps.onStarting({ kind: "gone", uid, finished: undefined });
    },

    eventSeen(event, now) {
      const { uid } = event.involvedObject;
      if (!uid) return;
      const entry = entries.get(uid);
      if (!entry) {
        early.set(uid, [...(early.get(uid) ?? []), event].slice(-earlyEvents));
        return;
      }
      applyEvent(uid, entry, event, now);
      if (startingUids.has(uid)) show(uid, entry, now);
    },

    tick(now) {
      for (const uid of startingUids) {
        const entry = entries.get(uid);
        if (!entry) continue;
        const { pod, state, stageSeenMs } = entry;
        const step = findStuck(state, { pod, now, seenMs: stageSeenMs, stuckAfterMs });
        if (step.next === state) continue;
        take(uid, entry, step, now);
        show(uid, entry, now);
      }
    },

    settle() {
      const dropped = unseen.size;
      for (const uid of unseen.keys()) deps.write(uid, undefined, []);
      unseen.clear();
      const readyMs = ({ state: { outcome, ends } }: Entry) =>
        outcome === "ready" ? (ends.readiness ?? 0) : 0;
      const done = [...entries.values()].filter((entry) => readyMs(entry) > 0);
      const newest = done.sort((a, b) => readyMs(a) - readyMs(b)).slice(-mostFinished);
      finished.splice(0, finished.length, ...newest.map(startOf));
      return { dropped };
    },

    *starting(now) {
      for (const uid of startingUids) {
        const entry = entries.get(uid);
        if (entry) yield view(entry, now);
      }
    },
    finished: () => finished.slice(-mostFinished).reverse(),
  };
}
