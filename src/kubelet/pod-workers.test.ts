import { expect, test } from "vitest";
import { silentLogger } from "../lib/logger.ts";
import { makePod } from "./container/make-pod.fixture.ts";
import type { PodSubject, PodWorker } from "./pod/pod-worker.ts";
import { createPodWorkers } from "./pod-workers.ts";
import type { EarlyEnding } from "./status/status-facts.ts";

const pod = makePod();
const subject: PodSubject = { pod, removed: false, inApi: pod };
const shutdown: EarlyEnding = { kind: "shutdown", reason: "Terminated", message: "" };

/** Workers that do nothing but end when they are told, by the test or by their signal. */
function setUp() {
  const told: string[] = [];
  let finish = () => {};
  const workers = createPodWorkers({
    logger: silentLogger,
    createWorker: () =>
      ({
        update: ({ removed, inApi }) => void told.push(removed ? `removed ${inApi}` : "updated"),
        endNow: ({ kind }, graceSeconds) => void told.push(`${kind} within ${graceSeconds} s`),
        ended: new Promise(() => {}),
        run: (signal) =>
          new Promise((resolve, reject) => {
            finish = resolve;
            signal.addEventListener("abort", () => reject(signal.reason));
          }),
      }) as PodWorker,
  });
  const stop = new AbortController();
  return { workers, told, stop, running: workers.run(stop.signal), finish: () => finish() };
}

test("a pod has one worker, which is told what is new, until it has finished", async () => {
  const { workers, told, finish } = setUp();
  workers.remove("u-1");
  workers.update(subject);
  workers.update(subject);
  workers.remove("u-1");
  expect(told).toEqual(["updated", "removed undefined"]);
  expect([workers.has("u-1"), workers.list()]).toEqual([true, [pod]]);
  finish();
  await expect.poll(() => workers.has("u-1")).toBe(false);
});

test("who waits for a pod's end is let go when the workers are stopped, and no worker begins after that", async () => {
  const { workers, told, stop, running } = setUp();
  workers.update(subject);
  const ending = workers.end("u-1", shutdown, 5);
  expect(told).toEqual(["shutdown within 5 s"]);
  stop.abort(new Error("the kubelet stops"));
  await Promise.all([running, ending]);
  workers.update(subject);
  expect(workers.has("u-1")).toBe(false);
});
