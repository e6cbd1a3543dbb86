import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMetrics, type Metrics } from "../../lib/metrics/metrics.ts";
import type { Informers } from "./informers.ts";
import { type ControllerOptions, runController } from "./run-controller.ts";

function start(
  options: Pick<ControllerOptions, "reconcile">,
  synced: () => Promise<void> = async () => {},
  metrics?: Metrics,
) {
  const clock = createManualClock();
  const stopping = new AbortController();
  const informers: Informers = {
    of: () => {
      throw new Error("unexpected request");
    },
    synced,
    run: async () => {},
  };
  let add: (key: string) => void = () => {};
  const running = runController(
    { informers, clock, logger: silentLogger, metrics },
    {
      name: "test",
      watch: (queue) => {
        add = queue.add;
      },
      ...options,
    },
    stopping.signal,
  );
  const stop = async () => {
    stopping.abort();
    await running;
  };
  return { clock, add: (key: string) => add(key), stop };
}

test("waits for the informers to sync and reconciles each key once", async () => {
  const handled: string[] = [];
  let see: () => void = () => {};
  const synced = new Promise<void>((resolve) => {
    see = resolve;
  });
  async function reconcile(key: string): Promise<undefined> {
    handled.push(key);
  }
  const { clock, add, stop } = start({ reconcile }, () => synced);
  add("a");
  add("b");
  add("a");
  await clock.advance(1_000);
  expect(handled).toEqual([]);
  see();
  await clock.advance(0);
  expect(handled).toEqual(["a", "b"]);
  await stop();
});

test("requeues a key on request, and with back-off after a failure", async () => {
  const times: number[] = [];
  const { clock, add, stop } = start({
    async reconcile() {
      times.push(clock.now());
      if (times.length < 4) throw new Error("not yet");
      return times.length < 6 ? { requeueAfterMs: 60_000 } : undefined;
    },
  });
  add("a");
  await clock.advance(300_000);
  // 5, 10 and 20 ms after the failures, then one minute twice as requested.
  expect(times).toEqual([0, 5, 15, 35, 60_035, 120_035]);
  await stop();
});

test("stops when the informers are stopped before they have synced", async () => {
  let fail: (reason: Error) => void = () => {};
  const synced = new Promise<void>((_, reject) => {
    fail = reject;
  });
  const { stop } = start({ reconcile: async () => undefined }, () => synced);
  const stopped = stop();
  fail(new Error("stopped"));
  await expect(stopped).resolves.toBeUndefined();
});

test("exposes upstream's work queue metrics", async () => {
  const metrics = createMetrics();
  const values = () =>
    metrics
      .text()
      .split("\n")
      .filter((line) => /^workqueue_[a-z_]+\{name="test"\}/.test(line))
      .map((line) => line.replace(/^workqueue_([a-z_]+)\{name="test"\}/, "$1"));
  let finish: () => void = () => {};
  let see: () => void = () => {};
  const seen = new Promise<void>((resolve) => {
    see = resolve;
  });
  let tries = 0;
  const { clock, add, stop } = start(
    {
      async reconcile(key) {
        if (key === "a" && ++tries === 1) throw new Error("not yet");
        if (key === "slow") {
          await new Promise<void>((resolve) => {
            finish = resolve;
          });
        }
        return undefined;
      },
    },
    () => seen,
    metrics,
  );
  add("a");
  add("a");
  add("slow");
  await clock.advance(2_000);
  expect(values()).toContain("depth 2");
  see();
  await clock.advance(3_000);
  expect(values()).toEqual([
    "adds_total 3",
    "retries_total 1",
    "queue_duration_seconds_sum 4",
    "queue_duration_seconds_count 3",
    "work_duration_seconds_sum 0",
    "work_duration_seconds_count 2",
    "depth 0",
    "unfinished_work_seconds 3",
    "longest_running_processor_seconds 3",
  ]);
  finish();
  await clock.advance(0);
  expect(values()).toContain("work_duration_seconds_sum 3");
  await stop();
  expect(values().filter((line) => line.startsWith("depth"))).toEqual([]);
});
