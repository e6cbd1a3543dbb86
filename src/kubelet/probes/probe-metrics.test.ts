import { expect, test } from "vitest";
import { createMetrics, type Metrics } from "../../lib/metrics/metrics.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createProbeMetrics } from "./probe-metrics.ts";

function linesOf(metrics: Metrics): string[] {
  const lines = metrics.text().split("\n");
  return lines.filter((line) => line && !line.startsWith("#") && !line.includes("_bucket"));
}

test("counts results and durations with upstream's names and labels", () => {
  const all = createMetrics();
  const series = createProbeMetrics(all).of(makePod(), "c", "startup");
  series.count("success", 0.25);
  series.count("failure", 1);
  series.count("failure", 1);
  series.count("error", 0.5);
  const labels = 'probe_type="Startup",container="c",pod="web",namespace="shop"';
  expect(linesOf(all)).toEqual([
    `prober_probe_total{${labels},pod_uid="u-1",result="successful"} 1`,
    `prober_probe_total{${labels},pod_uid="u-1",result="failed"} 2`,
    `prober_probe_total{${labels},pod_uid="u-1",result="unknown"} 1`,
    `prober_probe_duration_seconds_sum{${labels}} 0.75`,
    `prober_probe_duration_seconds_count{${labels}} 2`,
  ]);
});

test("counters continue after a container restart and are removed with the pod", () => {
  const all = createMetrics();
  const metrics = createProbeMetrics(all);
  metrics.of(makePod(), "c", "liveness").count("success", 0.1);
  metrics.of(makePod(), "c", "liveness").count("success", 0.1);
  metrics.of(makePod({}, { name: "other", uid: "u-2" }), "c", "liveness").count("success", 0.1);
  expect(linesOf(all).filter((line) => line.includes('pod_uid="u-1"'))).toEqual([
    expect.stringMatching(/result="successful"} 2$/),
  ]);
  metrics.forget("u-1");
  metrics.forget("u-1");
  const left = linesOf(all);
  expect(left).toHaveLength(3);
  for (const line of left) expect(line).toContain('pod="other"');
});
