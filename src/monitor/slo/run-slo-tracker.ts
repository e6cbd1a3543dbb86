import { readFile } from "node:fs/promises";
import type { Clock } from "../../lib/clock.ts";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { Logger } from "../../lib/logger.ts";
import { formatLabels } from "../../lib/metrics/metrics.ts";
import type { SloView } from "../feed/feed-message.ts";
import { createBoundedValues } from "../metrics/class-labels.ts";
import type { StartMetrics } from "../metrics/start-metrics.ts";
import type { Counts } from "./evaluate-objective.ts";
import type { SavedSlos, SloTracker } from "./slo-tracker.ts";

const reviewIntervalMs = 5_000;
const saveIntervalMs = 60_000;

/** Reads the counts saved by an earlier run. Empty if the file does not exist or is damaged. */
export async function readSavedSlos(file: string, logger: Logger): Promise<SavedSlos> {
  try {
    const saved: unknown = JSON.parse(await readFile(file, "utf8"));
    if (isSavedSlos(saved)) return saved;
    logger.warn("failed to read the saved counts of objectives; counting restarts from zero", { file });
  } catch (error) {
    const isFirst = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isFirst)
      logger.warn("failed to read the saved counts of objectives; counting restarts from zero", {
        file,
        error,
      });
  }
  return {};
}

export interface RunSloTrackerDeps {
  readonly tracker: SloTracker;
  /** File that keeps the counts across restarts. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Checks for overdue starts and saves the counts periodically until the signal aborts, then saves a last time. */
export async function runSloTracker(
  { tracker, file, clock, logger }: RunSloTrackerDeps,
  signal: AbortSignal,
): Promise<void> {
  async function save(): Promise<void> {
    try {
      await writeFileAtomic(file, JSON.stringify(tracker.save()), { temporary: `${file}.new` });
    } catch (error) {
      // A full disk must not stop the monitor; counting continues in memory.
      logger.warn("failed to save the counts of objectives; retrying in a minute", { file, error });
    }
  }

  let savedAt = clock.now();
  while (!signal.aborted) {
    await tracker.review(signal);
    if (clock.now() - savedAt >= saveIntervalMs) {
      savedAt = clock.now();
      await save();
    }
    await clock.sleep(reviewIntervalMs, signal).catch(() => {});
  }
  await save();
}

/** Validates the content of the file. */
function isSavedSlos(value: unknown): value is SavedSlos {
  return isMapping(value) && Object.values(value).every(isSavedSlo);
}

function isSavedSlo(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const { window, hour, overdue } = value;
  return isSteps(window) && isSteps(hour) && Array.isArray(overdue) && overdue.every(isText);
}

function isSteps(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (step: unknown) =>
        Array.isArray(step) && Number.isInteger(step[0]) && Array.isArray(step[1]) && step[1].every(isEntry),
    )
  );
}

function isEntry(value: unknown): value is readonly [string, Counts] {
  if (!Array.isArray(value) || !isText(value[0]) || !isMapping(value[1])) return false;
  const { bad, total } = value[1];
  if (typeof bad !== "number" || typeof total !== "number") return false;
  // The key of the total is empty; keys of classes are pairs.
  return bad >= 0 && total >= bad && (value[0] === "" || isPair(value[0]));
}

function isPair(key: string): boolean {
  try {
    const pair: unknown = JSON.parse(key);
    return Array.isArray(pair) && pair.length === 2 && pair.every(isText);
  } catch {
    return false;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Maximum number of values of a dimension in the metrics. */
const valuesPerDimension = 50;

const gauges: readonly { name: string; help: string; read(view: SloView): number }[] = [
  {
    name: "kindling_slo_target_ratio",
    help: "Target share of good events",
    read: ({ target }) => target,
  },
  {
    name: "kindling_slo_error_budget_left_ratio",
    help: "Remaining error budget in the objective's window: 1 is untouched, 0 or less is exhausted",
    read: ({ budgetLeft }) => budgetLeft,
  },
  {
    name: "kindling_slo_burn_rate_ratio",
    help: "Rate at which the last hour used the error budget, relative to the allowed rate",
    read: ({ burnRate }) => burnRate,
  },
];
const events = { name: "kindling_slo_events_total", help: "Events counted for an objective, by result" };

/** Registers metrics of objectives, budgets and breaches; gauges are read from the tracker at each scrape. */
export function registerSloMetrics(
  { registry, addCounter }: Pick<StartMetrics, "registry" | "addCounter">,
  tracker: SloTracker,
): void {
  for (const { read, ...gauge } of gauges) {
    registry.gauge(gauge, () => tracker.views().map((view) => [{ slo: view.name }, read(view)]));
  }
  const byClass = addCounter({
    name: "kindling_slo_class_events_total",
    help: "Events counted for an objective, by each class of the pod (StorageClass, RuntimeClass, node and so on)",
  });
  const bounds = new Map<string, ReturnType<typeof createBoundedValues>>();

  // Created with 0, so that the first bad event is visible as an increase.
  for (const { name } of tracker.views()) {
    for (const result of ["good", "bad"]) registry.counter(events, { slo: name, result });
  }
  tracker.onEvent(({ objective, isBad, classes }) => {
    const result = isBad ? "bad" : "good";
    registry.counter(events, { slo: objective.name, result }).add();
    for (const { dimension, value } of classes) {
      const bound = bounds.get(dimension) ?? createBoundedValues(valuesPerDimension);
      bounds.set(dimension, bound);
      byClass.inc(formatLabels({ slo: objective.name, dimension, class: bound.bound(value), result }));
    }
  });
}
