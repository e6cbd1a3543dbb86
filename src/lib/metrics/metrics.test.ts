import { expect, test } from "vitest";
import { countByLabels, createMetrics, exponentialBuckets, formatLabels } from "./metrics.ts";

test("formats counters by labels", () => {
  const metrics = createMetrics();
  const tries = { name: "tries_total", help: "Tries" };
  metrics.counter(tries, { result: "good" }).add();
  metrics.counter(tries, { result: 'with "quotes" \\ and\nlines' });
  metrics.counter(tries, { result: "good" }).add(2);
  expect(metrics.text()).toBe(
    [
      "# HELP tries_total Tries",
      "# TYPE tries_total counter",
      'tries_total{result="good"} 3',
      'tries_total{result="with \\"quotes\\" \\\\ and\\nlines"} 0',
      "",
    ].join("\n"),
  );
});

test("formats histograms, including values above the last bucket", () => {
  const metrics = createMetrics();
  const cell = metrics.histogram({ name: "took_seconds", help: "Time", buckets: [0.1, 1] }, { of: "a" });
  for (const value of [0.1, 0.5, 2, -1]) cell.observe(value);
  expect(metrics.text().split("\n").slice(2)).toEqual([
    'took_seconds_bucket{of="a",le="0.1"} 2',
    'took_seconds_bucket{of="a",le="1"} 3',
    'took_seconds_bucket{of="a",le="+Inf"} 4',
    'took_seconds_sum{of="a"} 2.6',
    'took_seconds_count{of="a"} 4',
    "",
  ]);
});

test("reads gauges on each scrape until they are unregistered", () => {
  const metrics = createMetrics();
  let depth = 1;
  const metric = { name: "depth", help: "Depth" };
  const remove = metrics.gauge(metric, () => [[{ name: "a" }, depth]]);
  metrics.gauge(metric, () => [[{}, 7]]);
  depth = 3;
  expect(metrics.text().split("\n").slice(2)).toEqual(['depth{name="a"} 3', "depth 7", ""]);
  remove();
  expect(metrics.text().split("\n").slice(2)).toEqual(["depth 7", ""]);
});

test("formats registered totals as counters", () => {
  const metrics = createMetrics();
  metrics.total({ name: "sent_total", help: "Sent" }, () => [[{}, 5]]);
  expect(metrics.text().split("\n").slice(1)).toEqual(["# TYPE sent_total counter", "sent_total 5", ""]);
});

test("a removed series restarts at zero, and its old counter has no effect", () => {
  const metrics = createMetrics();
  const tries = { name: "tries_total", help: "Tries" };
  const old = metrics.counter(tries, { of: "a" });
  metrics.counter(tries, { of: "b" });
  metrics.remove(tries, { of: "a" });
  metrics.remove({ name: "other" }, {});
  old.add();
  expect(metrics.text().split("\n").slice(2)).toEqual(['tries_total{of="b"} 0', ""]);
  metrics.counter(tries, { of: "a" }).add();
  expect(metrics.text()).toContain('tries_total{of="a"} 1');
});

test("limits the text to selected metrics", () => {
  const metrics = createMetrics();
  metrics.counter({ name: "a_total", help: "A" });
  metrics.counter({ name: "b_total", help: "B" });
  expect(metrics.text((name) => name.startsWith("b_"))).toBe(
    "# HELP b_total B\n# TYPE b_total counter\nb_total 0\n",
  );
});

test("bucket bounds have no rounding errors", () => {
  expect(exponentialBuckets(1e-8, 10, 12).map(String)).toEqual([
    "1e-8",
    "1e-7",
    "0.000001",
    "0.00001",
    "0.0001",
    "0.001",
    "0.01",
    "0.1",
    "1",
    "10",
    "100",
    "1000",
  ]);
  expect(exponentialBuckets(0.001, 2, 3)).toEqual([0.001, 0.002, 0.004]);
});

test("escapes special characters in label values", () => {
  expect(formatLabels({ a: 'x"} 1\n# TYPE \\', b: "ok" })).toBe('a="x\\"} 1\\n# TYPE \\\\",b="ok"');
});

test("counts items by their labels and leaves out those without", () => {
  const items = [{ a: "x" }, { a: "y" }, undefined, { a: "x" }];
  expect([...countByLabels(items, (item) => item)]).toEqual([
    [{ a: "x" }, 2],
    [{ a: "y" }, 1],
  ]);
  expect([...countByLabels([], () => ({}))]).toEqual([]);
});
