// Clauses: 3085-13, 3085-16
import type { Clock } from "../../lib/clock.ts";
import type { SloView } from "../feed/feed-message.ts";
import type { AvailabilityRecord } from "../measure/availability.ts";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import { createBoundedValues } from "../metrics/class-labels.ts";
import {
  classesOf,
  createWindowedCounts,
  evaluateSignal,
  isOverdue,
  rankBreaches,
  type SavedCounts,
} from "./evaluate-objective.ts";
import { describeObjective, type Objective } from "./objective.ts";

export interface SloTrackerOptions {
  readonly objectives: readonly Objective[];
  readonly clock: Clock;
  /** Pods that are not ready yet. */
  starting(): Iterable<PodStart>;
  readonly availability: AvailabilityRecord;
  /** Reads these pods and returns, by uid, the time at which a pod was still in the state that the monitor knows. */
  confirm(uids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
  readonly saved?: SavedSlos;
  /**
   * Time without a restart after which a ready start counts as good, because a crashing program can reach Ready too and
   * counts cannot be corrected afterwards. 30 s by default.
   */
  readonly goodAfterMs?: number | undefined;
}

/** Counts good and bad events of each objective. */
export interface SloTracker {
  observe(signal: StartSignal): void;
  /** Counts starts whose deadline has passed and starts that stayed ready. Must be called every few seconds. */
  review(signal: AbortSignal): Promise<void>;
  /** Removes a deleted pod after its last signal. */
  forget(podUid: string): void;
  /** Adds a listener. Must be called before the first observation. */
  onEvent(listener: (event: SloEvent) => void): void;
  views(): SloView[];
  save(): SavedSlos;
}

interface SloEvent {
  readonly objective: Objective;
  readonly isBad: boolean;
  readonly classes: readonly { readonly dimension: string; readonly value: string }[];
}

/** Saved counts, keyed by name and description, so that a changed threshold or window starts from zero. */
export type SavedSlos = Readonly<
  Record<
    string,
    {
      readonly window: SavedCounts;
      readonly hour: SavedCounts;
      /** Uids of pods that are still starting and have missed their deadline. */
      readonly overdue: readonly string[];
    }
  >
>;

const windowSteps = 48;
const hourMs = 3_600_000;
const hourSteps = 60;
/** Maximum number of values of a dimension, per objective. */
const valuesPerDimension = 300;
const maxShownBreaches = 10;
const maxOverdue = 10_000;
const defaultGoodAfterMs = 30_000;
/** Key of the total, beside those of classes. */
const totalKey = "";

export function createSloTracker(options: SloTrackerOptions): SloTracker {
  const { clock, starting, availability, confirm, saved = {}, goodAfterMs = defaultGoodAfterMs } = options;
  const listeners: ((event: SloEvent) => void)[] = [];
  const trackers = options.objectives.map((objective) =>
    trackObjective(
      { objective, clock, availability, goodAfterMs, saved: saved[savedKey(objective)] },
      (event) => {
        for (const listener of listeners) listener(event);
      },
    ),
  );
  return {
    observe: (signal) => {
      for (const tracker of trackers) tracker.observe(signal);
    },
    async review(signal) {
      const now = clock.now();
      const suspects = [...starting()].filter((start) => trackers.some((each) => each.isSuspect(start, now)));
      const uids = suspects.map(({ pod }) => pod.uid);
      const confirmed = uids.length > 0 ? await confirm(uids, signal) : new Map<string, number>();
      const starts = [...starting()];
      for (const tracker of trackers) tracker.review(starts, confirmed);
    },
    forget: (podUid) => {
      for (const tracker of trackers) tracker.forget(podUid);
    },
    onEvent: (listener) => void listeners.push(listener),
    views: () => trackers.map(({ view }) => view()),
    save: () => Object.fromEntries(trackers.map(({ objective, save }) => [savedKey(objective), save()])),
  };
}

function savedKey(objective: Objective): string {
  return `${objective.name}: ${describeObjective(objective)}`;
}

function trackObjective(
  given: Pick<SloTrackerOptions, "clock" | "availability"> & {
    readonly objective: Objective;
    readonly goodAfterMs: number;
    readonly saved: SavedSlos[string] | undefined;
  },
  emit: (event: SloEvent) => void,
) {
  const { objective, clock, availability, goodAfterMs, saved } = given;
  const { unavailableMs } = availability;
  const burnMs = Math.min(hourMs, objective.windowMs);
  const inWindow = createWindowedCounts({
    windowMs: objective.windowMs,
    steps: windowSteps,
    saved: saved?.window,
  });
  const inHour = createWindowedCounts({ windowMs: burnMs, steps: hourSteps, saved: saved?.hour });
  const overdue = new Set(saved?.overdue);
  /** Starts that were ready in time but may still crash, by uid, with the time of Ready or of the last restart. */
  const provisional = new Map<string, { readonly start: PodStart; readonly sinceMs: number }>();
  const bounds = new Map<string, ReturnType<typeof createBoundedValues>>();

  function bounded(dimension: string, value: string): string {
    const values = bounds.get(dimension) ?? createBoundedValues(valuesPerDimension);
    bounds.set(dimension, values);
    return values.bound(value);
  }

  function count(start: PodStart, isBad: boolean): void {
    const classes = classesOf(start).map(({ dimension, value }) => ({
      dimension,
      value: bounded(dimension, value),
    }));
    const keys = classes.map(({ dimension, value }) => JSON.stringify([dimension, value]));
    inWindow.add(clock.now(), [totalKey, ...keys], isBad);
    inHour.add(clock.now(), [totalKey], isBad);
    emit({ objective, isBad, classes });
  }

  function settle(uid: string, isBad: boolean): void {
    const entry = provisional.get(uid);
    if (!entry) return;
    provisional.delete(uid);
    count(entry.start, isBad);
  }

  function updateProvisional({ kind, start }: StartSignal): void {
    const { uid } = start.pod;
    if (kind === "crash-loop") settle(uid, true);
    if (kind === "terminated") settle(uid, false);
    if (kind === "restart" && provisional.has(uid)) provisional.set(uid, { start, sinceMs: clock.now() });
  }

  function isGoneOverdue({ kind, start }: StartSignal): boolean {
    const asOfMs = availability.knownUntilMs();
    return (
      kind === "abandoned" && asOfMs !== undefined && isOverdue(objective, start, { asOfMs, unavailableMs })
    );
  }

  return {
    objective,
    observe(signal: StartSignal): void {
      const { kind, start } = signal;
      const { uid } = start.pod;
      const result = evaluateSignal(objective, signal, unavailableMs);
      updateProvisional(signal);
      // An overdue start was counted when its deadline passed.
      if (!overdue.has(uid)) {
        if (result === "good" && kind === "ready") provisional.set(uid, { start, sinceMs: signal.endedMs });
        else if (result) count(start, result === "bad");
        else if (isGoneOverdue(signal)) count(start, true);
      }
      if (result || kind === "ready" || kind === "abandoned" || kind === "terminated") overdue.delete(uid);
    },
    isSuspect: (start: PodStart, now: number): boolean =>
      !overdue.has(start.pod.uid) && isOverdue(objective, start, { asOfMs: now, unavailableMs }),
    review(starts: readonly PodStart[], confirmed: ReadonlyMap<string, number>): void {
      for (const start of starts) {
        const { uid } = start.pod;
        const asOfMs = confirmed.get(uid);
        if (
          asOfMs === undefined ||
          overdue.has(uid) ||
          !isOverdue(objective, start, { asOfMs, unavailableMs })
        )
          continue;
        overdue.add(uid);
        count(start, true);
      }
      const knownMs = availability.knownUntilMs() ?? Number.NEGATIVE_INFINITY;
      for (const [uid, { sinceMs }] of provisional) {
        if (knownMs - sinceMs - unavailableMs(sinceMs, knownMs) >= goodAfterMs) settle(uid, false);
      }
      // Signals of the pod remove its entry. After a restart an overdue pod may not be listed yet, so unlisted entries
      // are removed only when there are too many.
      if (overdue.size <= maxOverdue) return;
      const uids = new Set(starts.map(({ pod }) => pod.uid));
      for (const uid of overdue) if (!uids.has(uid)) overdue.delete(uid);
    },
    forget(uid: string): void {
      settle(uid, false);
      overdue.delete(uid);
    },
    view: () => viewOf(objective, inWindow.totals(clock.now()), inHour.totals(clock.now()).get(totalKey)),
    save: () => ({ window: inWindow.save(), hour: inHour.save(), overdue: [...overdue] }),
  };
}

function viewOf(
  objective: Objective,
  window: ReturnType<ReturnType<typeof createWindowedCounts>["totals"]>,
  hour: { readonly bad: number; readonly total: number } = { bad: 0, total: 0 },
): SloView {
  const { name, kind, target } = objective;
  const { bad, total } = window.get(totalKey) ?? { bad: 0, total: 0 };
  const allowed = 1 - target;
  const classes = [...window].flatMap(([key, counts]) => {
    if (key === totalKey) return [];
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
      .slice(0, maxShownBreaches)
      .map((breach) => ({
        class: `${breach.dimension} ${breach.value}`,
        bad: breach.bad,
        total: breach.total,
      })),
  };
}

/** Removes floating-point noise: 1 - 0.99 is not exactly 0.01. */
function round(value: number): number {
  return Number(value.toFixed(6));
}
