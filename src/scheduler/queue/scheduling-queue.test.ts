import { describe, expect, test } from "vitest";
import type { PluginName } from "../filters/filter.ts";
import { describePod } from "../model/pod-info.ts";
import { makePod } from "../model/scheduling.fixture.ts";
import { createSchedulingQueue, type SchedulingQueue } from "./scheduling-queue.ts";

type Parts = Parameters<typeof makePod>[0];
const pod = (name: string, parts: Parts = {}) => describePod(makePod({ name, ...parts }));
const by = (...plugins: PluginName[]) => ({ rejectedBy: new Set(plugins) });
const always = () => true;

function takeAll(queue: SchedulingQueue, now = 0): string[] {
  const names: string[] = [];
  for (let taken = queue.pop(now); taken; taken = queue.pop(now))
    names.push(taken.info.pod.metadata.name ?? "");
  return names;
}

/** A queue whose only pod was rejected at time 0. */
function withRejected(...plugins: PluginName[]) {
  const queue = createSchedulingQueue();
  const rejected = pod("rejected");
  queue.put(rejected);
  queue.pop(0);
  queue.requeue(rejected.uid, by(...plugins), 0);
  return { queue, rejected };
}

describe("pop returns pods", () => {
  test("by priority, then by age", () => {
    const queue = createSchedulingQueue();
    queue.put(pod("a"));
    queue.put(pod("b", { priority: 10 }));
    queue.put(pod("c"));
    queue.put(pod("d", { priority: 10 }));
    expect(takeAll(queue)).toEqual(["b", "d", "a", "c"]);
  });

  test("in order when there are many", () => {
    const queue = createSchedulingQueue();
    const priorities = Array.from({ length: 200 }, (_, i) => (i * 7919) % 31);
    for (const [i, priority] of priorities.entries()) queue.put(pod(`p${i}`, { priority }));
    const taken = takeAll(queue).map((name) => priorities[Number(name.slice(1))]);
    expect(taken).toEqual([...priorities].sort((x, y) => y - x));
  });

  test("only if they are neither removed nor in flight", () => {
    const queue = createSchedulingQueue();
    const [a, b] = [pod("a"), pod("b")];
    queue.put(a);
    queue.put(b);
    queue.remove(a.uid);
    expect(takeAll(queue)).toEqual(["b"]);
    queue.put(b);
    expect(queue.pop(0)).toBeUndefined();
    expect(queue.has(b.uid)).toBe(true);
  });

  test("after their scheduling gates are removed", () => {
    const queue = createSchedulingQueue();
    queue.put(pod("gated", { schedulingGates: [{ name: "example.com/wait" }] }));
    expect(queue.pop(0)).toBeUndefined();
    expect(queue.nextAt()).toBe(Number.POSITIVE_INFINITY);
    queue.put(pod("gated"));
    expect(takeAll(queue)).toEqual(["gated"]);
  });
});

describe("an unschedulable pod", () => {
  test("is retried after five minutes without a change", () => {
    const { queue } = withRejected("NodeResourcesFit");
    expect(queue.nextAt()).toBe(300_000);
    expect(takeAll(queue, 299_999)).toEqual([]);
    expect(takeAll(queue, 300_000)).toEqual(["rejected"]);
  });

  test.each<{ what: string; plugins: PluginName[]; hint: () => boolean; taken: string[] }>([
    { what: "that helps", plugins: ["NodeResourcesFit"], hint: always, taken: ["rejected"] },
    { what: "that does not help", plugins: ["NodeResourcesFit"], hint: () => false, taken: [] },
    { what: "that helps another plugin", plugins: ["NodePorts"], hint: always, taken: [] },
    {
      what: "that helps one of several plugins",
      plugins: ["NodePorts", "NodeResourcesFit"],
      hint: always,
      taken: ["rejected"],
    },
    {
      what: "of any kind, when no plugin rejected it",
      plugins: [],
      hint: () => false,
      taken: ["rejected"],
    },
  ])("after a change $what: $taken", ({ plugins, hint, taken }) => {
    const { queue } = withRejected(...plugins);
    queue.applyHints({ NodeResourcesFit: hint }, 1_000);
    expect(takeAll(queue, 1_000)).toEqual(taken);
  });

  test("is popped after active pods", () => {
    const { queue } = withRejected("NodeResourcesFit");
    queue.applyHints({ NodeResourcesFit: always }, 10);
    queue.put(pod("fresh"));
    expect(queue.pop(10)?.info.key).toBe("default/fresh");
    // The queue is idle: the back-off is skipped.
    expect(queue.pop(10)?.info.key).toBe("default/rejected");
  });

  test("backs off exponentially up to ten seconds", () => {
    const queue = createSchedulingQueue();
    const rejected = pod("rejected");
    queue.put(rejected);
    const waits: number[] = [];
    let now = 0;
    for (let i = 0; i < 6; i++) {
      queue.pop(now);
      queue.requeue(rejected.uid, by("NodePorts"), now);
      queue.applyHints({ NodePorts: always }, now);
      waits.push(queue.nextAt() - now);
      now = queue.nextAt();
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  test("is retried when its spec changes, not when its status changes", () => {
    const { queue } = withRejected("NodeResourcesFit");
    queue.put(pod("rejected", { status: { phase: "Pending", conditions: [] } }));
    expect(takeAll(queue, 10)).toEqual([]);
    queue.put(pod("rejected", { tolerations: [{ operator: "Exists" }] }));
    expect(takeAll(queue, 10)).toEqual(["rejected"]);
  });
});

test("a pod whose binding failed waits for its back-off even when the queue is idle", () => {
  const queue = createSchedulingQueue();
  const failed = pod("failed");
  queue.put(failed);
  queue.pop(0);
  queue.requeue(failed.uid, undefined, 5);
  queue.applyHints({ NodeResourcesFit: always }, 10);
  expect(takeAll(queue, 999)).toEqual([]);
  expect(queue.nextAt()).toBe(1_000);
  expect(takeAll(queue, 1_000)).toEqual(["failed"]);
});

test("does not requeue a pod that was bound in the meantime", () => {
  const queue = createSchedulingQueue();
  const bound = pod("bound");
  queue.put(bound);
  queue.pop(0);
  queue.remove(bound.uid);
  queue.requeue(bound.uid, undefined, 0);
  expect(queue.has(bound.uid)).toBe(false);
  expect(queue.nextAt()).toBe(Number.POSITIVE_INFINITY);
});

describe("metrics of the queue", () => {
  test("count pods by state, without those in flight", () => {
    const { queue } = withRejected("NodeResourcesFit");
    queue.put(pod("gated", { schedulingGates: [{ name: "example.com/wait" }] }));
    queue.put(pod("failed"));
    const failed = queue.pop(0);
    queue.requeue(failed?.info.uid ?? "", undefined, 0);
    queue.put(pod("in-hand"));
    queue.pop(0);
    queue.put(pod("waiting"));
    expect(queue.pending()).toEqual({ active: 1, backoff: 1, unschedulable: 1, gated: 1 });
  });

  test("include the attempts and the time of the first one", () => {
    const queue = createSchedulingQueue();
    queue.put(pod("a"));
    expect(queue.pop(5_000)).toMatchObject({ attempts: 1, firstAttemptAt: 5_000, attemptedAt: 5_000 });
    queue.requeue("uid-default-a", undefined, 5_100);
    expect(queue.pop(9_000)).toMatchObject({ attempts: 2, firstAttemptAt: 5_000, attemptedAt: 9_000 });
  });
});
