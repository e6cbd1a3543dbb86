import { formatLabels } from "../../lib/format-labels.ts";
import type { SloView } from "../feed/feed-message.ts";
import { createBoundedValues } from "../metrics/bounded-values.ts";
import type { StartMetrics } from "../metrics/start-metrics.ts";
import type { SloTracker } from "./slo-tracker.ts";

/** Values that one kind of class can have in the metrics. */
const valuesPerDimension = 50;

const gauges: readonly { name: string; help: string; read(view: SloView): number }[] = [
  {
    name: "kindling_slo_target_ratio",
    help: "The share that the objective wants to be good",
    read: ({ target }) => target,
  },
  {
    name: "kindling_slo_error_budget_left_ratio",
    help: "What is left of the error budget in the objective's window: 1 is all, 0 and less is none",
    read: ({ budgetLeft }) => budgetLeft,
  },
  {
    name: "kindling_slo_burn_rate_ratio",
    help: "How many times faster than allowed the last hour has used up the error budget",
    read: ({ burnRate }) => burnRate,
  },
];
const events = { name: "kindling_slo_events_total", help: "What counted for an objective, good and bad" };

/** Objectives, budgets and breaches as metrics; those are read from the tracker at each scrape. */
export function registerSloMetrics(
  { small, addCounter }: Pick<StartMetrics, "small" | "addCounter">,
  tracker: SloTracker,
): void {
  for (const { read, ...gauge } of gauges) {
    small.gauge(gauge, () => tracker.views().map((view) => [{ slo: view.name }, read(view)]));
  }
  const byClass = addCounter({
    name: "kindling_slo_class_events_total",
    help: "What counted for an objective, by each class that the pods are of (StorageClass, RuntimeClass, node and so on)",
  });
  const bounds = new Map<string, ReturnType<typeof createBoundedValues>>();

  // From the beginning, so that the first bad one is an increase.
  for (const { name } of tracker.views()) {
    for (const result of ["good", "bad"]) small.counter(events, { slo: name, result });
  }
  tracker.onVerdict(({ objective, isBad, classes }) => {
    const result = isBad ? "bad" : "good";
    small.counter(events, { slo: objective.name, result }).add();
    for (const { dimension, value } of classes) {
      const bound = bounds.get(dimension) ?? createBoundedValues(valuesPerDimension);
      bounds.set(dimension, bound);
      byClass.inc(formatLabels({ slo: objective.name, dimension, class: bound.admit(value), result }));
    }
  });
}
