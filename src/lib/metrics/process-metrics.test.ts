import { expect, test } from "vitest";
import { processMetrics } from "./process-metrics.ts";

test.each([
  ["process_cpu_seconds_total", 0.01, 1e6],
  ["process_cpu_user_seconds_total", 0.01, 1e6],
  ["process_cpu_system_seconds_total", 0, 1e6],
  ["process_start_time_seconds", 1.6e9, 1e11],
  ["process_resident_memory_bytes", 1e7, 1e11],
  ["process_virtual_memory_bytes", 1e7, 1e15],
  ["process_heap_bytes", 1e6, 1e15],
  ["process_open_fds", 3, 1e6],
  ["process_max_fds", 10, 1e10],
  ["nodejs_heap_size_total_bytes", 1e6, 1e11],
  ["nodejs_heap_size_used_bytes", 1e6, 1e11],
  ["nodejs_external_memory_bytes", 1, 1e11],
  ['nodejs_heap_space_size_used_bytes{space="old"}', 1e5, 1e11],
  ["nodejs_version_info", 1, 1],
])("%s is between %d and %d", (name, least, most) => {
  const line = processMetrics()
    .text()
    .split("\n")
    .find((each) => each.startsWith(name));
  const value = Number(line?.split(" ").at(-1));
  expect(value).toBeGreaterThanOrEqual(least);
  expect(value).toBeLessThanOrEqual(most);
});

test("reports the event loop delay in seconds since the last scrape", async () => {
  const lags = () => /^nodejs_eventloop_lag_(?:min|max)_seconds .*$/gm;
  await expect.poll(() => processMetrics().text().match(lags())?.length).toBe(2);
  const [, seconds] = /^nodejs_eventloop_lag_seconds (\S+)$/m.exec(processMetrics().text()) ?? [];
  expect(Number(seconds ?? 0)).toBeLessThan(60);
});

test("counts garbage collections", async () => {
  const counted = /^nodejs_gc_duration_seconds_count\{kind="minor"\} [1-9]/m;
  await expect
    .poll(() => {
      const garbage = Array.from({ length: 100_000 }, (_, i) => ({ i }));
      return garbage.length > 0 && counted.test(processMetrics().text());
    })
    .toBe(true);
});
