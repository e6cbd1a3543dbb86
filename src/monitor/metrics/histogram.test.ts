import { expect, test } from "vitest";
import { createHistogram, type MetricsFormat } from "./histogram.ts";

const exemplar = { pod: { namespace: "shop", name: "web-0" }, atMs: 1_500 };
function small() {
  const histogram = createHistogram({ name: "start_seconds", help: "How long", buckets: [1, 5] });
  const render = (format: MetricsFormat) => histogram.render(format).join("");
  return { ...histogram, render };
}

test("writes cumulative buckets, sum and count", () => {
  const histogram = small();
  for (const value of [0.5, 1, 3, 100]) histogram.observe('a="1"', value, exemplar);
  expect(histogram.render("prometheus")).toBe(
    [
      "# HELP start_seconds How long",
      "# TYPE start_seconds histogram",
      'start_seconds_bucket{le="1",a="1"} 2',
      'start_seconds_bucket{le="5",a="1"} 3',
      'start_seconds_bucket{le="+Inf",a="1"} 4',
      'start_seconds_sum{a="1"} 104.5',
      'start_seconds_count{a="1"} 4',
      "",
    ].join("\n"),
  );
});

test("3085-12: writes the last pod of each bucket as exemplar in OpenMetrics", () => {
  const histogram = small();
  histogram.observe('a="1"', 3, exemplar);
  histogram.observe('a="1"', 4, { pod: { namespace: "shop", name: "web-1" }, atMs: 2_000 });
  expect(histogram.render("openmetrics")).toContain(
    'start_seconds_bucket{le="5",a="1"} 2 # {namespace="shop",pod="web-1"} 4 2\n',
  );
  expect(histogram.render("openmetrics")).toContain('start_seconds_bucket{le="1",a="1"} 0\n');
  expect(histogram.render("prometheus")).not.toContain("web-1");
});

test("invalidates the cached text on the next observation", () => {
  const histogram = small();
  histogram.observe('a="1"', 3, exemplar);
  histogram.render("prometheus");
  histogram.observe('a="1"', 3, exemplar);
  expect(histogram.render("prometheus")).toContain('start_seconds_count{a="1"} 2');
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])("ignores the value %d", (value) => {
  const histogram = small();
  histogram.observe('a="1"', value, exemplar);
  expect(histogram.render("prometheus")).not.toContain("_count");
});

test("caches the text of each format separately", () => {
  const histogram = small();
  histogram.observe('a="1"', 3, exemplar);
  const before = [histogram.render("prometheus"), histogram.render("openmetrics")];
  expect(before[0]).not.toBe(before[1]);
  expect([histogram.render("prometheus"), histogram.render("openmetrics")]).toEqual(before);
});
