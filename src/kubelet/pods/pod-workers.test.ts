import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import type { TerminationReason } from "../status/status-facts.ts";
import type { PodUpdate } from "./pod-worker.ts";
import { createPodWorkers } from "./pod-workers.ts";

const pod = makePod();
const update: PodUpdate = { pod, removed: false, inApi: pod };
const shutdown: TerminationReason = { kind: "shutdown", reason: "Terminated", message: "" };

/** Workers that record their calls, and finish or fail on request of the test or its signal. */
function setUp() {
  const calls: string[] = [];
  const log: string[] = [];
  const clock = createManualClock(0);
  const now = { finish() {}, fail(_: Error) {}, terminate() {}, signal: new AbortController().signal };
  const workers = createPodWorkers({
    clock,
    logger: { ...silentLogger, error: (message) => void log.push(message) },
  });
  workers.setFactory((first) => {
    calls.push(first.removed ? "created, removed" : "created");
    return {
      update: ({ removed, inApi }) => void calls.push(removed ? `removed ${inApi}` : "updated"),
      retryNow() {},
      onStateChanged() {
        throw new Error("failed");
      },
      terminateNow: ({ kind }, graceSeconds) => void calls.push(`${kind} within ${graceSeconds} s`),
      terminated: new Promise((resolve) => {
        now.terminate = resolve;
      }),
      run: (signal) =>
        new Promise((resolve, reject) => {
          Object.assign(now, { finish: resolve, fail: reject, signal });
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    };
  });
  const stop = new AbortController();
  return { workers, calls, log, clock, stop, running: workers.run(stop.signal), now };
}

test("passes updates to one worker per pod until it has finished", async () => {
  const { workers, calls, log, now } = setUp();
  workers.remove("u-1");
  workers.update(update);
  workers.update(update);
  workers.remove("u-1");
  expect(calls).toEqual(["created", "updated", "removed undefined"]);
  expect([workers.has("u-1"), workers.list()]).toEqual([true, [pod]]);
  now.finish();
  await expect.poll(() => workers.has("u-1")).toBe(false);
  // The worker's signal no longer listens to the kubelet's.
  expect([calls.length, log, now.signal.aborted]).toEqual([3, [], true]);
});

test("replaces a failed worker after a back-off and passes on what changed meanwhile", async () => {
  const { workers, calls, log, clock, now } = setUp();
  workers.update(update);
  const { signal } = now;
  now.fail(new Error("failed"));
  await expect.poll(() => clock.sleeping()).toBe(1);
  expect([log, signal.aborted]).toEqual([["pod worker failed"], true]);
  workers.remove("u-1");
  const terminating = workers.terminate("u-1", shutdown, 5);
  expect([workers.has("u-1"), calls]).toEqual([true, ["created"]]);
  await clock.advance(500);
  expect(calls).toEqual(["created", "created, removed", "shutdown within 5 s"]);
  now.terminate();
  await terminating;
  // The second failure has a longer back-off.
  now.fail(new Error("failed again"));
  await expect.poll(() => clock.sleeping()).toBe(1);
  await clock.advance(999);
  expect(calls).toHaveLength(3);
  await clock.advance(1);
  expect(calls).toHaveLength(5);
});

test("logs a worker that throws on a notification", () => {
  const { workers, log } = setUp();
  workers.update(update);
  workers.onStateChanged("u-1");
  expect(log).toEqual(["pod worker failed"]);
});

test("stops waiting for a termination when the workers stop, and starts no worker afterwards", async () => {
  const { workers, calls, stop, running } = setUp();
  workers.update(update);
  const terminating = workers.terminate("u-1", shutdown, 5);
  expect(calls).toEqual(["created", "shutdown within 5 s"]);
  stop.abort(new Error("the kubelet stops"));
  await Promise.all([running, terminating]);
  workers.update(update);
  expect(workers.has("u-1")).toBe(false);
});

test("lists removed pods until they have terminated, and then wakes the next pod of the name", async () => {
  const { workers, log, now } = setUp();
  workers.update(update);
  workers.remove("u-1");
  expect(workers.listRemoved()).toEqual([pod]);
  const terminateOld = now.terminate;
  const next = { ...pod, metadata: { ...pod.metadata, uid: "u-2" } };
  workers.update({ pod: next, removed: false, inApi: next });
  expect([workers.listRemoved(), log]).toEqual([[pod], []]);
  terminateOld();
  await expect.poll(() => workers.listRemoved()).toEqual([]);
  // The workers of this test fail when they are woken: the old one's and the new one's.
  expect(log).toEqual(["pod worker failed", "pod worker failed"]);
});
