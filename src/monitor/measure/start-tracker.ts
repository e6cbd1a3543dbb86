import type { Event, Pod } from "../../api/meta/objects.ts";
import { isMirrorPod } from "../../api/pod/pod-state.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import { applyEvent } from "./apply-event.ts";
import { applyDeletion, applyPod } from "./apply-pod.ts";
import { hasInit } from "./read-pod.ts";
import { decodeRecord, encodeRecord } from "./start-record.ts";
import {
  type ClassSources,
  classOf,
  type PodStart,
  type StageName,
  type StartSignal,
} from "./start-signal.ts";
import {
  currentStage,
  findStuck,
  type PendingSignal,
  type Step,
  type StuckFacts,
  type TrackedStart,
  toPodStart,
  untracked,
} from "./tracked-start.ts";

/** State of a starting pod. */
export interface StartingPod {
  readonly start: PodStart;
  readonly stage: StageName;
  /** Whether the pod is stuck in this stage. */
  readonly stuck: boolean;
  /** Trimmed to what `explainPod` and `waterfall` read. */
  readonly pod: Pod;
  /** The newest 20 events of the pod, oldest first. */
  readonly events: readonly Event[];
}

export type StartingChange =
  | { readonly kind: "changed"; readonly starting: StartingPod }
  /** The pod is ready, ended or deleted. `finished` is set if it was ready. */
  | { readonly kind: "gone"; readonly uid: string; readonly finished: PodStart | undefined };

export interface TrackerDeps {
  readonly classes: ClassSources;
  readonly stuckAfterMs: number;
  readonly sinceMs: number;
  /** Part of a period that is not counted: see `Availability`. */
  readonly unavailableMs: StuckFacts["unavailableMs"];
  /** Records of the last run, by uid. */
  readonly records: ReadonlyMap<string, string>;
  /** Writes the record of a pod. `undefined` removes it. */
  readonly write: (uid: string, record: string | undefined, signals: readonly StartSignal[]) => void;
  readonly onStarting: (change: StartingChange) => void;
}

export interface StartTracker {
  podSeen(pod: Pod, options: SeenOptions): void;
  podGone(pod: Pod, options: SeenOptions): void;
  eventSeen(event: Event, now: number): void;
  /** Pods that are stuck if their state has not changed until `now`. */
  suspects(now: number): readonly Pod[];
  /** Confirms that the pod was in its last observed state at this time. */
  confirmed(uid: string, asOfMs: number): void;
  /** Must be called after the first list. Removes the records of pods that no longer exist and returns their number. */
  settle(): { readonly dropped: number };
  starting(): Iterable<StartingPod>;
  /** Last observed state of the pod. */
  find(uid: string): Pod | undefined;
  finished(): readonly PodStart[];
}

interface SeenOptions {
  /** Whether every change since the last observation, or since the creation, was observed. */
  readonly unbroken: boolean;
  readonly now: number;
}

interface Entry {
  pod: Pod;
  state: TrackedStart;
  /** Time at which the pod was first observed in its stage. */
  stageSeenMs: number;
  events: readonly Event[];
}

const maxFinished = 2_000;
const maxEvents = 20;
/** Maximum number of pods with events that arrived before the pod. */
const maxEarlyPods = 1_000;
const maxEarlyEvents = 5;

/** Keeps the state of every pod and applies observations to it. */
export function createStartTracker(deps: TrackerDeps): StartTracker {
  const { sinceMs, stuckAfterMs, unavailableMs } = deps;
  const entries = new Map<string, Entry>();
  const startingUids = new Set<string>();
  const early = createLruMap<readonly Event[]>(maxEarlyPods);
  const unseen = new Map(deps.records);
  /** Oldest first. */
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

  function view(entry: Entry): StartingPod {
    const { pod, state, events } = entry;
    const stage = stageOf(entry);
    return { start: startOf(entry), stage, stuck: state.stuck.includes(stage), pod, events };
  }

  function stepIfStuck({ pod, state, stageSeenMs }: Entry, asOfMs: number): Step {
    return findStuck(state, { pod, asOfMs, seenMs: stageSeenMs, stuckAfterMs, unavailableMs });
  }

  /** Applies a step: updates the state, writes the record if it changed, emits signals. */
  function take(uid: string, entry: Entry, { next, signals }: Step, now: number): void {
    const before = entry.state;
    if (next === before) return;
    const stage = stageOf(entry);
    entry.state = next;
    if (stageOf(entry) !== stage) entry.stageSeenMs = now;
    const record = encodeRecord(next);
    if (record !== encodeRecord(before)) deps.write(uid, record, signalsOf(signals, entry));
  }

  function signalsOf(signals: readonly PendingSignal[], entry: Entry): readonly StartSignal[] {
    if (signals.length === 0) return [];
    const start = startOf(entry);
    return signals.map((each) => ({ ...each, start }));
  }

  /** Notifies the listener of starting pods. */
  function show(uid: string, entry: Entry): void {
    const { outcome, ends } = entry.state;
    if (outcome === "starting") {
      startingUids.add(uid);
      deps.onStarting({ kind: "changed", starting: view(entry) });
      return;
    }
    entry.events = [];
    if (!startingUids.delete(uid)) return;
    const start = outcome === "ready" && ends.readiness !== undefined ? startOf(entry) : undefined;
    if (start) finished.push(start);
    // Trimmed in batches, because each splice moves all entries.
    if (finished.length > 2 * maxFinished) finished.splice(0, finished.length - maxFinished);
    deps.onStarting({ kind: "gone", uid, finished: start });
  }

  function handleEvent(uid: string, entry: Entry, event: Event, now: number): void {
    // Permission to write events in one namespace must not affect pods of another.
    if (event.metadata.namespace !== entry.pod.metadata.namespace) return;
    if (entry.state.outcome === "starting") {
      const others = entry.events.filter(({ metadata }) => metadata.uid !== event.metadata.uid);
      entry.events = [...others, event].slice(-maxEvents);
    }
    take(uid, entry, applyEvent(entry.state, event, { sinceMs }), now);
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
    take(uid, entry, applyPod(previous, { pod, unbroken, nowMs: now, sinceMs }), now);
    if (!known) for (const event of early.get(uid) ?? []) handleEvent(uid, entry, event, now);
    show(uid, entry);
  }

  return {
    podSeen,

    podGone(pod, { unbroken, now }) {
      const { uid = "" } = pod.metadata;
      // The last state may contain changes.
      if (entries.has(uid)) podSeen(pod, { unbroken, now });
      const entry = entries.get(uid);
      if (!entry) return;
      entries.delete(uid);
      deps.write(uid, undefined, signalsOf(applyDeletion(entry.state, { pod, unbroken }), entry));
      if (startingUids.delete(uid)) deps.onStarting({ kind: "gone", uid, finished: undefined });
    },

    eventSeen(event, now) {
      const { uid } = event.involvedObject;
      if (!uid) return;
      const entry = entries.get(uid);
      if (!entry) {
        early.set(uid, [...(early.get(uid) ?? []), event].slice(-maxEarlyEvents));
        return;
      }
      handleEvent(uid, entry, event, now);
      if (startingUids.has(uid)) show(uid, entry);
    },

    suspects(now) {
      const found: Pod[] = [];
      for (const uid of startingUids) {
        const entry = entries.get(uid);
        if (entry && stepIfStuck(entry, now).signals.length > 0) found.push(entry.pod);
      }
      return found;
    },

    confirmed(uid, asOfMs) {
      const entry = entries.get(uid);
      if (!entry) return;
      const step = stepIfStuck(entry, asOfMs);
      if (step.signals.length === 0) return;
      take(uid, entry, step, asOfMs);
      show(uid, entry);
    },

    settle() {
      const dropped = unseen.size;
      for (const uid of unseen.keys()) deps.write(uid, undefined, []);
      unseen.clear();
      const readyMs = ({ state: { outcome, ends } }: Entry) =>
        outcome === "ready" ? (ends.readiness ?? 0) : 0;
      const done = [...entries.values()].filter((entry) => readyMs(entry) > 0);
      const newest = done.sort((a, b) => readyMs(a) - readyMs(b)).slice(-maxFinished);
      finished.splice(0, finished.length, ...newest.map(startOf));
      return { dropped };
    },

    *starting() {
      for (const uid of startingUids) {
        const entry = entries.get(uid);
        if (entry) yield view(entry);
      }
    },
    find: (uid) => entries.get(uid)?.pod,
    finished: () => finished.slice(-maxFinished).reverse(),
  };
}
