import { describe, expect, test } from "vitest";
import type { PluginName } from "./filter/filter.ts";
import { describePod } from "./pod-info.ts";
import { makePod } from "./scheduling.fixture.ts";
import { createSchedulingQueue, type SchedulingQueue } from "./scheduling-queue.ts";

type Parts = Parameters<typeof makePod>[0];
const pod = (name: string, parts: Parts = {}) => describePod(makePod({ name, ...parts }));
const by = (...plugins: PluginName[]) => ({ rejectedBy: new Set(plugins) });
const always = () => true;

function takeAll(queue: SchedulingQueue, now = 0): string[] {
  const names: string[] = [];
  for (let taken = queue.take(now); taken; taken = queue.take(now))
    names.push(taken.info.pod.metadata.name ?? "");
  return names;
}

/** A queue whose one pod was turned away at the time 0. */
function withRefused(...plugins: PluginName[]) {
  const queue = createSchedulingQueue();
  const refused = pod("refused");
  queue.put(refused);
  queue.take(0);
  queue.giveBack(refused.uid, by(...plugins), 0);
  return { queue, refused };
}

describe("pods are taken", () => {
  test("by priority, then in the order in which they came", () => {
    const queue = createSchedulingQueue();
    queue.put(pod("a"));
    queue.put(pod("b", { priority: 10 }));
    queue.put(pod("c"));
    queue.put(pod("d", { priority: 10 }));
    expect(takeAll(queue)).toEqual(["b", "d", "a", "c"]);
  });

  test("in order also when there are many", () => {
    const queue = createSchedulingQueue();
    const priorities = Array.from({ length: 200 }, (_, i) => (i * 7919) % 31);
    for (const [i, priority] of priorities.entries()) queue.put(pod(`p${i}`, { priority }));
    const taken = takeAll(queue).map((name) => priorities[Number(name.slice(1))]);
    expect(taken).toEqual([...priorities].sort((x, y) => y - x));
  });

  test("not when they are gone, or in hand", () => {
    const queue = createSchedulingQueue();
    const [a, b] = [pod("a"), pod("b")];
    queue.put(a);
    queue.put(b);
    queue.remove(a.uid);
    expect(takeAll(queue)).toEqual(["b"]);
    queue.put(b);
    expect(queue.take(0)).toBeUndefined();
    expect(queue.has(b.uid)).toBe(true);
  });

  test("once their gates are gone", () => {
    const queue = createSchedulingQueue();
    queue.put(pod("gated", { schedulingGates: [{ name: "example.com/wait" }] }));
    expect(queue.take(0)).toBeUndefined();
    expect(queue.nextAt()).toBe(Number.POSITIVE_INFINITY);
    queue.put(pod("gated"));
    expect(takeAll(queue)).toEqual(["gated"]);
  });
});

describe("a pod that was turned away", () => {
  test("waits five minutes when nothing changes", () => {
    const { queue } = withRefused("NodeResourcesFit");
    expect(queue.nextAt()).toBe(300_000);
    expect(takeAll(queue, 299_999)).toEqual([]);
    expect(takeAll(queue, 300_000)).toEqual(["refused"]);
  });

  test.each<{ what: string; plugins: PluginName[]; hint: () => boolean; taken: string[] }>([
    { what: "that may help", plugins: ["NodeResourcesFit"], hint: always, taken: ["refused"] },
    { what: "that does not", plugins: ["NodeResourcesFit"], hint: () => false, taken: [] },
    { what: "that helps against another plugin", plugins: ["NodePorts"], hint: always, taken: [] },
    {
      what: "that helps against one of several",
      plugins: ["NodePorts", "NodeResourcesFit"],
      hint: always,
      taken: ["refused"],
    },
    {
      what: "of any kind, when nobody in particular did",
      plugins: [],
      hint: () => false,
      taken: ["refused"],
    },
  ])("after a change $what: $taken", ({ plugins, hint, taken }) => {
    const { queue } = withRefused(...plugins);
    queue.wake({ NodeResourcesFit: hint }, 1_000);
    expect(takeAll(queue, 1_000)).toEqual(taken);
  });

  test("comes after those that have not been tried too lately", () => {
    const { queue } = withRefused("NodeResourcesFit");
    queue.wake({ NodeResourcesFit: always }, 10);
    queue.put(pod("fresh"));
    expect(queue.take(10)?.info.key).toBe("default/fresh");
    // Nothing else is to do: it need not wait out its second.
    expect(queue.take(10)?.info.key).toBe("default/refused");
  });

  test("backs off for longer each time, up to ten seconds", () => {
    const queue = createSchedulingQueue();
    const refused = pod("refused");
    queue.put(refused);
    const waits: number[] = [];
    let now = 0;
    for (let i = 0; i < 6; i++) {
      queue.take(now);
      queue.giveBack(refused.uid, by("NodePorts"), now);
      queue.wake({ NodePorts: always }, now);
      waits.push(queue.nextAt() - now);
      now = queue.nextAt();
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  test("is tried again when it asks for something else, not when its status changes", () => {
    const { queue } = withRefused("NodeResourcesFit");
    queue.put(pod("refused", { status: { phase: "Pending", conditions: [] } }));
    expect(takeAll(queue, 10)).toEqual([]);
    queue.put(pod("refused", { tolerations: [{ operator: "Exists" }] }));
    expect(takeAll(queue, 10)).toEqual(["refused"]);
  });
});

test("a pod whose binding failed waits out its time even when nothing else is to do", () => {
  const queue = createSchedulingQueue();
  const failed = pod("failed");
  queue.put(failed);
  queue.take(0);
  queue.giveBack(failed.uid, undefined, 5);
  queue.wake({ NodeResourcesFit: always }, 10);
  expect(takeAll(queue, 999)).toEqual([]);
  expect(queue.nextAt()).toBe(1_000);
  expect(takeAll(queue, 1_000)).toEqual(["failed"]);
});

test("a pod that got a node meanwhile is not taken back", () => {
  const queue = createSchedulingQueue();
  const bound = pod("bound");
  queue.put(bound);
  queue.take(0);
  queue.remove(bound.uid);
  queue.giveBack(bound.uid, undefined, 0);
  expect(queue.has(bound.uid)).toBe(false);
  expect(queue.nextAt()).toBe(Number.POSITIVE_INFINITY);
});

describe("what metrics are told", () => {
  test("how many pods wait where, without those in hand", () => {
    const { queue } = withRefused("NodeResourcesFit");
    queue.put(pod("gated", { schedulingGates: [{ name: "example.com/wait" }] }));
    queue.put(pod("failed"));
    const failed = queue.take(0);
    queue.giveBack(failed?.info.uid ?? "", undefined, 0);
    queue.put(pod("in-hand"));
    queue.take(0);
    queue.put(pod("waiting"));
    expect(queue.pending()).toEqual({ active: 1, backoff: 1, unschedulable: 1, gated: 1 });
  });

  test("how often a pod was tried, and since when", () => {
    const queue = createSchedulingQueue();
    queue.put(pod("a"));
    expect(queue.take(5_000)).toMatchObject({ attempts: 1, firstTriedAt: 5_000, triedAt: 5_000 });
    queue.giveBack("uid-default-a", undefined, 5_100);
    expect(queue.take(9_000)).toMatchObject({ attempts: 2, firstTriedAt: 5_000, triedAt: 9_000 });
  });
});
