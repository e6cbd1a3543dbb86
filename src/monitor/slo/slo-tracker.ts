import type { Clock } from "../../lib/clock.ts";
import type { SloView } from "../feed/feed-message.ts";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import { createBoundedValues } from "../metrics/bounded-values.ts";
import { classesOf } from "./classes-of.ts";
import { describeObjective } from "./describe-objective.ts";
import { isOverdue, judgeSignal } from "./judge.ts";
import type { Objective } from "./objective.ts";
import { rankBreaches } from "./rank-breaches.ts";
import { createWindowedCounts, type SavedCounts } from "./windowed-counts.ts";

export interface SloTrackerOptions {
  readonly objectives: readonly Objective[];
  readonly clock: Clock;
  /** Pods that are not ready yet. */
  starting(): Iterable<PodStart>;
  readonly saved?: SavedSlos;
}

/** Holds what happens against the objectives. */
export interface SloTracker {
  observe(signal: StartSignal): void;
  /** Finds the starts whose deadline has passed: to be called every few seconds. */
  review(): void;
  /** Before anything is observed. */
  onVerdict(listener: (verdict: SloVerdict) => void): void;
  views(): SloView[];
  save(): SavedSlos;
}

interface SloVerdict {
  readonly objective: Objective;
  readonly isBad: boolean;
  readonly classes: readonly { readonly dimension: string; readonly value: string }[];
}

/** Plain data, by what the objective is: counts of another threshold or window under the same name are worth nothing. */
export type SavedSlos = Readonly<
  Record<
    string,
    {
      readonly window: SavedCounts;
      readonly hour: SavedCounts;
      /** Uids of the pods whose deadline has passed and that still start. */
      readonly overdue: readonly string[];
    }
  >
>;

const windowSteps = 48;
const hourMs = 3_600_000;
const hourSteps = 60;
/** Values of one kind of class, an objective's. */
const valuesPerDimension = 300;
const shownBreaches = 10;
const mostOverdue = 10_000;
/** The key of all, beside those of classes. */
const all = "";

export function createSloTracker(options: SloTrackerOptions): SloTracker {
  const { clock, starting, saved = {} } = options;
  const listeners: ((verdict: SloVerdict) => void)[] = [];
  const trackers = options.objectives.map((objective) =>
    trackObjective({ objective, clock, saved: saved[savedKey(objective)] }, (verdict) => {
      for (const tell of listeners) tell(verdict);
    }),
  );
  return {
    observe: (signal) => {
      for (const tracker of trackers) tracker.observe(signal);
    },
    review() {
      const starts = [...starting()];
      for (const tracker of trackers) tracker.review(starts);
    },
    onVerdict: (listener) => void listeners.push(listener),
    views: () => trackers.map(({ view }) => view()),
    save: () => Object.fromEntries(trackers.map(({ objective, save }) => [savedKey(objective), save()])),
  };
}

function savedKey(objective: Objective): string {
  return `${objective.name}: ${describeObjective(objective)}`;
}

function trackObjective(
  given: { objective: Objective; clock: Clock; saved: SavedSlos[string] | undefined },
  tell: (verdict: SloVerdict) => void,
) {
  const { objective, clock, saved } = given;
  const burnMs = Math.min(hourMs, objective.windowMs);
  const inWindow = createWindowedCounts({
    windowMs: objective.windowMs,
    steps: windowSteps,
    saved: saved?.window,
  });
  const inHour = createWindowedCounts({ windowMs: burnMs, steps: hourSteps, saved: saved?.hour });
  const overdue = new Set(saved?.overdue);
  const bounds = new Map<string, ReturnType<typeof createBoundedValues>>();

  function bounded(dimension: string, value: string): string {
    const values = bounds.get(dimension) ?? createBoundedValues(valuesPerDimension);
    bounds.set(dimension, values);
    return values.admit(value);
  }

  function count(start: PodStart, isBad: boolean): void {
    const classes = classesOf(start).map(({ dimension, value }) => ({
      dimension,
      value: bounded(dimension, value),
    }));
    const keys = classes.map(({ dimension, value }) => JSON.stringify([dimension, value]));
    inWindow.add(clock.now(), [all, ...keys], isBad);
    inHour.add(clock.now(), [all], isBad);
    tell({ objective, isBad, classes });
  }

  return {
    objective,
    observe(signal: StartSignal): void {
      const { uid } = signal.start.pod;
      const verdict = judgeSignal(objective, signal);
      // What was late has been counted when it became so.
      const isCounted = overdue.has(uid);
      if (verdict && !isCounted) count(signal.start, verdict === "bad");
      const isGone = signal.kind === "abandoned";
      if (isGone && !isCounted && isOverdue(objective, signal.start, clock.now())) count(signal.start, true);
      if (verdict || isGone || signal.kind === "terminated") overdue.delete(uid);
    },
    review(starts: readonly PodStart[]): void {
      for (const start of starts) {
        if (overdue.has(start.pod.uid) || !isOverdue(objective, start, clock.now())) continue;
        overdue.add(start.pod.uid);
        count(start, true);
      }
      // Each goes with its pod's signals. Those that are not among the starts may only be not among them yet, after a
      // restart: they are forgotten when there are more than there can be pods like that.
      if (overdue.size <= mostOverdue) return;
      const uids = new Set(starts.map(({ pod }) => pod.uid));
      for (const uid of overdue) if (!uids.has(uid)) overdue.delete(uid);
    },
    view: () => viewOf(objective, inWindow.totals(clock.now()), inHour.totals(clock.now()).get(all)),
    save: () => ({ window: inWindow.save(), hour: inHour.save(), overdue: [...overdue] }),
  };
}

function viewOf(
  objective: Objective,
  window: ReturnType<ReturnType<typeof createWindowedCounts>["totals"]>,
  hour: { readonly bad: number; readonly total: number } = { bad: 0, total: 0 },
): SloView {
  const { name, kind, target } = objective;
  const { bad, total } = window.get(all) ?? { bad: 0, total: 0 };
  const allowed = 1 - target;
  const classes = [...window].flatMap(([key, counts]) => {
    if (key === all) return [];
    const [dimension, value] = JSON.parse(key);
    return [{ dimension: String(dimension), value: String(value), ...counts }];
  });
  return {
    name,
    kind,
    objective: describeObjective(objective),
    target,
    budgetLeft: total === 0 ? 1 : round(1 - bad / total / allowed),
    burnRate: hour.total === 0 ? 0 : round(hour.bad / hour.total / allowed),
    good: total - bad,
    total,
    breaches: rankBreaches(classes, bad)
      .slice(0, shownBreaches)
      .map((breach) => ({
        class: `${breach.dimension} ${breach.value}`,
        bad: breach.bad,
        total: breach.total,
      })),
  };
}

/** 1 - 0.99 is not quite 0.01: what comes of that is not worth showing. */
function round(value: number): number {
  return Number(value.toFixed(6));
}
