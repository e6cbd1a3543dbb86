import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { createPullMetrics } from "./pull-metrics.ts";

function setUp() {
  const clock = createManualClock();
  const metrics = createMetrics();
  const pulls = createPullMetrics({ metrics, clock });
  const values = () =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => line.replace("kindling_node_image_pull_", ""));
  return { clock, pulls, values };
}

test("3542-14 counts bytes and stalls, and the rate over ten seconds, by registry", async () => {
  const { clock, pulls, values } = setUp();
  const pull = pulls.start("registry.example.com:5000/app:1");
  pull.onReport({ offset: 1_000 });
  await clock.advance(5_000);
  pull.onReport({ offset: 6_000 });
  pulls.start("busybox").onStall();
  expect(values()).toEqual([
    'bytes_per_second{registry="registry.example.com:5000"} 600',
    'bytes_per_second{registry="docker.io"} 0',
    'received_bytes_total{registry="registry.example.com:5000"} 6000',
    'stalls_total{registry="docker.io"} 1',
  ]);
  await clock.advance(8_000);
  expect(values()[0]).toBe('bytes_per_second{registry="registry.example.com:5000"} 500');
  pull.end();
  expect(values()).not.toContainEqual(
    expect.stringContaining('second{registry="registry.example.com:5000"}'),
  );
});

test("3542-14 counts the bytes of concurrent pulls of an image once, and again after a restart", () => {
  const { pulls, values } = setUp();
  const [first, second] = [pulls.start("app"), pulls.start("app")];
  first.onReport({ offset: 1_000 });
  second.onReport({ offset: 1_000 });
  second.onReport({ offset: 400 });
  second.end();
  first.onReport({ offset: 0 });
  first.onReport({ offset: 300 });
  expect(values()).toContain('received_bytes_total{registry="docker.io"} 1300');
});

test("3542-14 limits the number of registries", () => {
  const { pulls, values } = setUp();
  for (let i = 0; i < 150; i++) pulls.start(`registry-${i}.example.com/app`).onStall();
  expect(values().filter((line) => line.startsWith("stalls"))).toHaveLength(101);
  expect(values()).toContain('stalls_total{registry="other"} 50');
});
