import { Counter, Gauge } from "prom-client";
import { createBoundedValues } from "../metrics/bounded-values.ts";
import { formatLabels } from "../metrics/format-labels.ts";
import type { StartMetrics } from "../metrics/start-metrics.ts";
import type { SloTracker } from "./slo-tracker.ts";

/** Values that one kind of class can have in the metrics. */
const valuesPerDimension = 50;

/** Objectives, budgets and breaches as metrics; those are read from the tracker at each scrape. */
export function registerSloMetrics(
  { registry, addCounter }: Pick<StartMetrics, "registry" | "addCounter">,
  tracker: SloTracker,
): void {
  const registers = [registry];
  const slo = ["slo"];
  const target = new Gauge({
    name: "kindling_slo_target_ratio",
    help: "The share that the objective wants to be good",
    labelNames: slo,
    registers,
    // Gauges are read in the order in which they are made: this one fills in the others.
    collect() {
      for (const view of tracker.views()) {
        target.set({ slo: view.name }, view.target);
        budget.set({ slo: view.name }, view.budgetLeft);
        burnRate.set({ slo: view.name }, view.burnRate);
      }
    },
  });
  const budget = new Gauge({
    name: "kindling_slo_error_budget_left_ratio",
    help: "What is left of the error budget in the objective's window: 1 is all, 0 and less is none",
    labelNames: slo,
    registers,
  });
  const burnRate = new Gauge({
    name: "kindling_slo_burn_rate_ratio",
    help: "How many times faster than allowed the last hour has used up the error budget",
    labelNames: slo,
    registers,
  });
  const events = new Counter({
    name: "kindling_slo_events_total",
    help: "What counted for an objective, good and bad",
    labelNames: ["slo", "result"],
    registers,
  });
  const byClass = addCounter({
    name: "kindling_slo_class_events_total",
    help: "What counted for an objective, by each class that the pods are of (StorageClass, RuntimeClass, node and so on)",
  });
  const bounds = new Map<string, ReturnType<typeof createBoundedValues>>();

  for (const { name } of tracker.views()) {
    // From the beginning, so that the first bad one is an increase.
    for (const result of ["good", "bad"]) events.inc({ slo: name, result }, 0);
  }
  tracker.onVerdict(({ objective, isBad, classes }) => {
    const result = isBad ? "bad" : "good";
    events.inc({ slo: objective.name, result });
    for (const { dimension, value } of classes) {
      const bound = bounds.get(dimension) ?? createBoundedValues(valuesPerDimension);
      bounds.set(dimension, bound);
      byClass.inc(formatLabels({ slo: objective.name, dimension, class: bound.admit(value), result }));
    }
  });
}
