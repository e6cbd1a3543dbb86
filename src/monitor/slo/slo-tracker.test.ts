import { describe, expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { PodStart } from "../measure/start-signal.ts";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { createStartMetrics } from "../metrics/start-metrics.ts";
import { alwaysAvailable } from "./always-available.fixture.ts";
import type { Objective } from "./objective.ts";
import { registerSloMetrics } from "./run-slo-tracker.ts";
import { createSloTracker, type SavedSlos, type SloTrackerOptions } from "./slo-tracker.ts";

const { signal } = new AbortController();
const day = 86_400_000;
const base = { target: 0.9, windowMs: 7 * day, selector: {} };
const fast: Objective = {
  ...base,
  name: "fast",
  kind: "latency",
  measure: "first-sandbox",
  thresholdMs: 10_000,
};
const works: Objective = { ...base, name: "works", kind: "success", measure: "start", deadlineMs: 60_000 };

function setUp(objective: Objective, saved?: SavedSlos, given: Partial<SloTrackerOptions> = {}) {
  const clock = createManualClock(1_000 * day);
  const starting = new Map<string, PodStart>();
  const tracker = createSloTracker({
    objectives: [objective],
    clock,
    starting: () => starting.values(),
    saved,
    ...alwaysAvailable(clock),
    ...given,
  });
  const view = () => {
    const [found] = tracker.views();
    if (!found) throw new Error("no view");
    return found;
  };
  return { clock, starting, tracker, view };
}

const sandbox = (storageClass: string, seconds: number, node = "node-1") => {
  const start = podStart({ pod: { node }, class: { storageClasses: [storageClass] } });
  return { kind: "sandbox", start, first: true, seconds, endedMs: 0 } as const;
};

test("3085-13: computes budget and burn rate of a latency objective and ranks the failing plugin first", async () => {
  const { clock, tracker, view } = setUp(fast);
  expect(view()).toMatchObject({ budgetLeft: 1, burnRate: 0, good: 0, total: 0, breaches: [] });
  for (let i = 0; i < 95; i++) tracker.observe(sandbox("good", 1, `node-${i % 3}`));
  for (let i = 0; i < 5; i++) tracker.observe(sandbox("broken", 30, `node-${i % 3}`));
  expect(view()).toMatchObject({
    name: "fast",
    kind: "latency",
    objective: "90% of first sandboxes within 10s, over 7d",
    target: 0.9,
    budgetLeft: 0.5,
    burnRate: 0.5,
    good: 95,
    total: 100,
  });
  expect(view().breaches[0]).toEqual({ class: "StorageClass broken", bad: 5, total: 5 });
  // The burn rate covers one hour, the budget the whole window.
  await clock.advance(2 * 3_600_000);
  expect(view()).toMatchObject({ budgetLeft: 0.5, burnRate: 0 });
  await clock.advance(8 * day);
  expect(view()).toMatchObject({ budgetLeft: 1, total: 0, breaches: [] });
});

test("3085-13: reports an overspent budget as negative", () => {
  const { tracker, view } = setUp(fast);
  tracker.observe(sandbox("broken", 30));
  expect(view()).toMatchObject({ budgetLeft: -9, burnRate: 10 });
});

test("3085-13: counts a pod that never becomes ready once, when its deadline passes", async () => {
  const { clock, starting, tracker, view } = setUp(works);
  const start = podStart({ createdMs: clock.now() });
  starting.set("uid-1", start);
  await tracker.review(signal);
  expect(view()).toMatchObject({ good: 0, total: 0 });
  await clock.advance(61_000);
  await tracker.review(signal);
  await tracker.review(signal);
  expect(view()).toMatchObject({ good: 0, total: 1 });
  tracker.observe({ kind: "ready", start, seconds: 70, endedMs: 0 });
  starting.clear();
  await tracker.review(signal);
  expect(view()).toMatchObject({ good: 0, total: 1 });
});

test("3085-13: counts a deleted pod only if its deadline had passed", async () => {
  const { clock, tracker, view } = setUp(works);
  const abandoned = (uid: string, createdMs: number) =>
    tracker.observe({ kind: "abandoned", start: podStart({ pod: { uid }, createdMs }), stage: "sandbox" });
  abandoned("early", clock.now() - 59_000);
  expect(view().total).toBe(0);
  abandoned("late", clock.now() - 61_000);
  expect(view()).toMatchObject({ good: 0, total: 1 });
});

test("3085-13: restores counts after a restart without counting twice", async () => {
  const { clock, starting, tracker } = setUp(works);
  starting.set("uid-1", podStart({ createdMs: clock.now() - 61_000 }));
  await tracker.review(signal);
  const next = setUp(works, JSON.parse(JSON.stringify(tracker.save())));
  // No pods are listed right after a restart.
  await next.tracker.review(signal);
  next.starting.set("uid-1", podStart({ createdMs: clock.now() - 61_000 }));
  await next.tracker.review(signal);
  expect(next.view()).toMatchObject({ good: 0, total: 1 });
  const changed = setUp({ ...works, deadlineMs: 90_000 }, tracker.save());
  expect(changed.view().total).toBe(0);
});

describe("3085-16 does not count", () => {
  const away = { unavailableMs: () => 600_000, knownUntilMs: () => 1_000 * day };
  test("a deadline that passed while the API server was unavailable", async () => {
    const { clock, starting, tracker, view } = setUp(works, undefined, { availability: away });
    starting.set("uid-1", podStart({ createdMs: clock.now() - 600_000 }));
    await tracker.review(signal);
    tracker.observe({
      kind: "abandoned",
      start: podStart({ createdMs: clock.now() - 600_000 }),
      stage: "init",
    });
    tracker.observe({ kind: "ready", start: podStart(), seconds: 600, endedMs: clock.now() });
    expect(view()).toMatchObject({ total: 0 });
  });

  test("a pod that changed in the API server since the monitor saw it", async () => {
    const { clock, starting, tracker, view } = setUp(works, undefined, { confirm: async () => new Map() });
    starting.set("uid-1", podStart({ createdMs: clock.now() - 61_000 }));
    await tracker.review(signal);
    expect(view()).toMatchObject({ total: 0 });
  });

  test("a pod deleted before its deadline and seen later by a suspended monitor", async () => {
    const { clock, tracker, view } = setUp(works, undefined, {
      availability: { unavailableMs: () => 0, knownUntilMs: () => 1_000 * day },
    });
    const start = podStart({ createdMs: clock.now() - 1_000 });
    await clock.advance(600_000);
    tracker.observe({ kind: "abandoned", start, stage: "init" });
    expect(view()).toMatchObject({ total: 0 });
  });
});

describe("3085-16 a start that becomes ready", () => {
  const ready = (endedMs: number) => ({ kind: "ready", start: podStart(), seconds: 5, endedMs }) as const;
  const crash = { kind: "crash-loop", start: podStart(), container: "c" } as const;
  const restart = { kind: "restart", start: podStart(), container: "c" } as const;

  test("counts as good after 30 seconds without a restart", async () => {
    const { clock, tracker, view } = setUp(works);
    tracker.observe(ready(clock.now()));
    await clock.advance(29_999);
    await tracker.review(signal);
    expect(view()).toMatchObject({ total: 0 });
    tracker.observe(restart);
    await clock.advance(29_999);
    await tracker.review(signal);
    expect(view()).toMatchObject({ total: 0 });
    await clock.advance(1);
    await tracker.review(signal);
    expect(view()).toMatchObject({ good: 1, total: 1 });
  });

  test("and then crash-loops counts as bad once", async () => {
    const { clock, tracker, view } = setUp(works);
    tracker.observe(ready(clock.now()));
    tracker.observe(restart);
    tracker.observe(crash);
    tracker.observe(crash);
    await clock.advance(60_000);
    await tracker.review(signal);
    tracker.forget("uid-1");
    expect(view()).toMatchObject({ good: 0, total: 1 });
  });

  test.each(["terminated", "forgotten"])("counts as good when it is %s before that", async (how) => {
    const { clock, tracker, view } = setUp(works);
    tracker.observe(ready(clock.now()));
    if (how === "forgotten") tracker.forget("uid-1");
    else tracker.observe({ kind: "terminated", start: podStart(), seconds: 1, endedMs: clock.now() });
    expect(view()).toMatchObject({ good: 1, total: 1 });
  });

  test("is not proven by time in which the API server was unavailable", async () => {
    const { clock, tracker, view } = setUp(works, undefined, {
      availability: { unavailableMs: () => 0, knownUntilMs: () => 1_000 * day },
    });
    tracker.observe(ready(clock.now()));
    await clock.advance(600_000);
    await tracker.review(signal);
    expect(view()).toMatchObject({ total: 0 });
  });
});

test("3085-13: exports objectives, budgets, burn rates and breaches by class", async () => {
  const { clock, tracker } = setUp(fast);
  const metrics = createStartMetrics({ clock });
  const { scrape } = metrics;
  registerSloMetrics(metrics, tracker);
  expect(String((await scrape()).body)).toContain('kindling_slo_events_total{slo="fast",result="bad"} 0');
  for (let i = 0; i < 15; i++) tracker.observe(sandbox("good", 1));
  for (let i = 0; i < 5; i++) tracker.observe(sandbox("broken", 30));
  const text = String((await scrape()).body);
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      'kindling_slo_target_ratio{slo="fast"} 0.9',
      'kindling_slo_error_budget_left_ratio{slo="fast"} -1.5',
      'kindling_slo_burn_rate_ratio{slo="fast"} 2.5',
      'kindling_slo_events_total{slo="fast",result="good"} 15',
      'kindling_slo_events_total{slo="fast",result="bad"} 5',
      'kindling_slo_class_events_total{slo="fast",dimension="StorageClass",class="broken",result="bad"} 5',
      'kindling_slo_class_events_total{slo="fast",dimension="StorageClass",class="good",result="good"} 15',
    ]),
  );
});

test("bounds the counts by class for any number of nodes", () => {
  const { tracker, view } = setUp(fast);
  for (let i = 0; i < 5_000; i++) tracker.observe(sandbox("good", 30, `node-${i}`));
  expect(view().total).toBe(5_000);
  const [step] = Object.values(tracker.save())[0]?.window ?? [];
  expect(step?.[1].length).toBeLessThan(320);
});
