import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { PodStart } from "../measure/start-signal.ts";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { createStartMetrics } from "../metrics/start-metrics.ts";
import type { Objective } from "./objective.ts";
import { registerSloMetrics } from "./slo-metrics.ts";
import { createSloTracker, type SavedSlos } from "./slo-tracker.ts";

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

function setUp(objective: Objective, saved?: SavedSlos) {
  const clock = createManualClock(1_000 * day);
  const starting = new Map<string, PodStart>();
  const tracker = createSloTracker({
    objectives: [objective],
    clock,
    starting: () => starting.values(),
    saved,
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
  return { kind: "sandbox", start, first: true, seconds } as const;
};

test("3085-13: a latency objective: budget, burn rate, and the plugin that fails first", async () => {
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
  // The hour's burn is over long before the window forgets it.
  await clock.advance(2 * 3_600_000);
  expect(view()).toMatchObject({ budgetLeft: 0.5, burnRate: 0 });
  await clock.advance(8 * day);
  expect(view()).toMatchObject({ budgetLeft: 1, total: 0, breaches: [] });
});

test("3085-13: a budget can be overspent", () => {
  const { tracker, view } = setUp(fast);
  tracker.observe(sandbox("broken", 30));
  expect(view()).toMatchObject({ budgetLeft: -9, burnRate: 10 });
});

test("3085-13: a pod that never becomes ready is a failure when its deadline passes, and only once", async () => {
  const { clock, starting, tracker, view } = setUp(works);
  const start = podStart({ createdMs: clock.now() });
  starting.set("uid-1", start);
  tracker.review();
  expect(view()).toMatchObject({ good: 0, total: 0 });
  await clock.advance(61_000);
  tracker.review();
  tracker.review();
  expect(view()).toMatchObject({ good: 0, total: 1 });
  tracker.observe({ kind: "ready", start, seconds: 70 });
  starting.clear();
  tracker.review();
  expect(view()).toMatchObject({ good: 0, total: 1 });
});

test("3085-13: a pod that is deleted counts only if its deadline had passed", async () => {
  const { clock, tracker, view } = setUp(works);
  const abandoned = (uid: string, createdMs: number) =>
    tracker.observe({ kind: "abandoned", start: podStart({ pod: { uid }, createdMs }), stage: "sandbox" });
  abandoned("early", clock.now() - 59_000);
  expect(view().total).toBe(0);
  abandoned("late", clock.now() - 61_000);
  expect(view()).toMatchObject({ good: 0, total: 1 });
});

test("3085-13: what was counted survives a restart of the monitor, and is not counted again", async () => {
  const { clock, starting, tracker } = setUp(works);
  starting.set("uid-1", podStart({ createdMs: clock.now() - 61_000 }));
  tracker.review();
  const next = setUp(works, JSON.parse(JSON.stringify(tracker.save())));
  // It does not know any pods at first.
  next.tracker.review();
  next.starting.set("uid-1", podStart({ createdMs: clock.now() - 61_000 }));
  next.tracker.review();
  expect(next.view()).toMatchObject({ good: 0, total: 1 });
  const changed = setUp({ ...works, deadlineMs: 90_000 }, tracker.save());
  expect(changed.view().total).toBe(0);
});

test("3085-13: objectives, budgets, burn rates and breaches by class are metrics", async () => {
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

test("however many nodes there are, the counts stay bounded", () => {
  const { tracker, view } = setUp(fast);
  for (let i = 0; i < 5_000; i++) tracker.observe(sandbox("good", 30, `node-${i}`));
  expect(view().total).toBe(5_000);
  const [step] = Object.values(tracker.save())[0]?.window ?? [];
  expect(step?.[1].length).toBeLessThan(320);
});
