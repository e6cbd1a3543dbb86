import { expect, test } from "vitest";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { createSchedulingMetrics } from "./scheduling-metrics.ts";

function start() {
  const metrics = createMetrics();
  const schedulingMetrics = createSchedulingMetrics(metrics, "default-scheduler");
  const lines = (pattern: RegExp) =>
    metrics
      .text()
      .split("\n")
      .filter((line) => !line.startsWith("#") && pattern.test(line));
  return { schedulingMetrics, lines };
}

test("counts attempts by result and measures the time since the first attempt", () => {
  const { schedulingMetrics, lines } = start();
  schedulingMetrics.observe(
    "unschedulable",
    { attempts: 1, firstAttemptAt: 1_000, attemptedAt: 1_000 },
    1_500,
  );
  schedulingMetrics.observe("scheduled", { attempts: 2, firstAttemptAt: 1_000, attemptedAt: 9_000 }, 9_250);
  schedulingMetrics.observe("scheduled", { attempts: 40, firstAttemptAt: 0, attemptedAt: 9_000 }, 10_000);
  expect(lines(/attempts_total/)).toEqual([
    'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 2',
    'scheduler_schedule_attempts_total{result="unschedulable",profile="default-scheduler"} 1',
    'scheduler_schedule_attempts_total{result="error",profile="default-scheduler"} 0',
  ]);
  expect(lines(/attempt_duration_seconds_sum/)).toEqual([
    'scheduler_scheduling_attempt_duration_seconds_sum{result="scheduled",profile="default-scheduler"} 1.25',
    'scheduler_scheduling_attempt_duration_seconds_sum{result="unschedulable",profile="default-scheduler"} 0.5',
    'scheduler_scheduling_attempt_duration_seconds_sum{result="error",profile="default-scheduler"} 0',
  ]);
  expect(lines(/sli_duration_seconds_sum/)).toEqual([
    'scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"} 8.25',
    'scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="15+"} 10',
  ]);
  expect(lines(/scheduling_attempts_sum/)).toEqual(["scheduler_pod_scheduling_attempts_sum 42"]);
});

test("counts pending pods on each scrape", () => {
  const { schedulingMetrics, lines } = start();
  let active = 0;
  const stop = schedulingMetrics.trackPending(() => ({ active, backoff: 2, unschedulable: 3, gated: 4 }));
  active = 1;
  expect(lines(/pending/)).toEqual([
    'scheduler_pending_pods{queue="active"} 1',
    'scheduler_pending_pods{queue="backoff"} 2',
    'scheduler_pending_pods{queue="unschedulable"} 3',
    'scheduler_pending_pods{queue="gated"} 4',
  ]);
  stop();
  expect(lines(/pending/)).toEqual([]);
});
