import { expect, test } from "vitest";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import { makePod } from "./container/make-pod.fixture.ts";
import type { PodSubject } from "./pod/pod-worker.ts";
import { createPodWorkers } from "./pod-workers.ts";
import type { EarlyEnding } from "./status/status-facts.ts";

const pod = makePod();
const subject: PodSubject = { pod, removed: false, inApi: pod };
const shutdown: EarlyEnding = { kind: "shutdown", reason: "Terminated", message: "" };

/** Workers that do nothing but end or fail when they are told, by the test or by their signal. */
function setUp() {
  const told: string[] = [];
  const log: string[] = [];
  const clock = createManualClock(0);
  const now = { finish() {}, fail(_: Error) {}, end() {}, signal: new AbortController().signal };
  const workers = createPodWorkers({
    clock,
    logger: { ...silentLogger, error: (message) => void log.push(message) },
    createWorker: (begun) => {
      told.push(begun.removed ? "begun, removed" : "begun");
      return {
        update: ({ removed, inApi }) => void told.push(removed ? `removed ${inApi}` : "updated"),
        retryNow() {},
        noticed() {
          throw new Error("this should not be");
        },
        endNow: ({ kind }, graceSeconds) => void told.push(`${kind} within ${graceSeconds} s`),
        ended: new Promise((resolve) => {
          now.end = resolve;
        }),
        run: (signal) =>
          new Promise((resolve, reject) => {
            Object.assign(now, { finish: resolve, fail: reject, signal });
            signal.addEventListener("abort", () => reject(signal.reason));
          }),
      };
    },
  });
  const stop = new AbortController();
  return { workers, told, log, clock, stop, running: workers.run(stop.signal), now };
}

test("a pod has one worker, which is told what is new, until it has finished", async () => {
  const { workers, told, log, now } = setUp();
  workers.remove("u-1");
  workers.update(subject);
  workers.update(subject);
  workers.remove("u-1");
  expect(told).toEqual(["begun", "updated", "removed undefined"]);
  expect([workers.has("u-1"), workers.list()]).toEqual([true, [pod]]);
  now.finish();
  await expect.poll(() => workers.has("u-1")).toBe(false);
  // Its signal has let go of the kubelet's.
  expect([told.length, log, now.signal.aborted]).toEqual([3, [], true]);
});

test("a worker that fails is replaced after a while by one that knows what has come meanwhile", async () => {
  const { workers, told, log, clock, now } = setUp();
  workers.update(subject);
  const { signal } = now;
  now.fail(new Error("this should not be"));
  await expect.poll(() => clock.sleeping()).toBe(1);
  expect([log, signal.aborted]).toEqual([["a pod's worker failed"], true]);
  workers.remove("u-1");
  const ending = workers.end("u-1", shutdown, 5);
  expect([workers.has("u-1"), told]).toEqual([true, ["begun"]]);
  await clock.advance(500);
  expect(told).toEqual(["begun", "begun, removed", "shutdown within 5 s"]);
  now.end();
  await ending;
  // The next failure is given more time.
  now.fail(new Error("this should not be either"));
  await expect.poll(() => clock.sleeping()).toBe(1);
  await clock.advance(999);
  expect(told).toHaveLength(3);
  await clock.advance(1);
  expect(told).toHaveLength(5);
});

test("one that fails to take news does not keep them from the others", () => {
  const { workers, log } = setUp();
  workers.update(subject);
  workers.noticed("u-1");
  expect(log).toEqual(["a pod's worker failed"]);
});

test("who waits for a pod's end is let go when the workers are stopped, and no worker begins after that", async () => {
  const { workers, told, stop, running } = setUp();
  workers.update(subject);
  const ending = workers.end("u-1", shutdown, 5);
  expect(told).toEqual(["begun", "shutdown within 5 s"]);
  stop.abort(new Error("the kubelet stops"));
  await Promise.all([running, ending]);
  workers.update(subject);
  expect(workers.has("u-1")).toBe(false);
});
