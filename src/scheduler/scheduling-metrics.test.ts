import { expect, test } from "vitest";
import { createMetrics } from "../lib/metrics.ts";
import { createSchedulingMetrics } from "./scheduling-metrics.ts";

function start() {
  const metrics = createMetrics();
  const measured = createSchedulingMetrics(metrics, "default-scheduler");
  const lines = (pattern: RegExp) =>
    metrics
      .text()
      .split("\n")
      .filter((line) => !line.startsWith("#") && pattern.test(line));
  return { measured, lines };
}

test("attempts by result, and how long a pod took since the first", () => {
  const { measured, lines } = start();
  measured.observe("unschedulable", { attempts: 1, firstTriedAt: 1_000, triedAt: 1_000 }, 1_500);
  measured.observe("scheduled", { attempts: 2, firstTriedAt: 1_000, triedAt: 9_000 }, 9_250);
  measured.observe("scheduled", { attempts: 40, firstTriedAt: 0, triedAt: 9_000 }, 10_000);
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

test("pods that wait are counted when somebody asks", () => {
  const { measured, lines } = start();
  let active = 0;
  const stop = measured.follow(() => ({ active, backoff: 2, unschedulable: 3, gated: 4 }));
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
