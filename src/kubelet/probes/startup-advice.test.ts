import { expect, test } from "vitest";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { makePodWith } from "../containers/make-pod.fixture.ts";
import {
  allThree,
  createTestProber,
  failure,
  observedPod,
  probe,
  success,
  testStartMs,
} from "../model/prober.fixture.ts";
import { adviseStartupProbe, createStartTimes, withoutSmallerBudget } from "./startup-advice.ts";

const rows: [string, number[], { periodSeconds: number; failureThreshold: number } | undefined][] = [
  ["no observations", [], undefined],
  ["too few observations", [5_000, 6_000], undefined],
  ["fast starts: every second, half a minute", [200, 300, 400], { periodSeconds: 1, failureThreshold: 31 }],
  [
    "a tenth of the median, three times the slowest",
    [40_000, 60_000, 50_000],
    { periodSeconds: 5, failureThreshold: 37 },
  ],
  [
    "one slow start widens the budget, not the period",
    [20_000, 20_000, 20_000, 20_000, 100_000],
    { periodSeconds: 2, failureThreshold: 151 },
  ],
  [
    "never more than ten seconds apart",
    [600_000, 600_000, 600_000],
    { periodSeconds: 10, failureThreshold: 181 },
  ],
  ["ignores invalid durations", [Number.NaN, -1, 200, 300], undefined],
];
test.each(rows)("%s", (_name, durations, expected) => {
  const advice = adviseStartupProbe(durations);
  if (expected) expect(advice).toMatchObject(expected);
  else expect(advice).toBeUndefined();
});

test("the advice explains itself", () => {
  expect(adviseStartupProbe([40_000, 60_000, 50_000])?.reason).toBe(
    "3 starts took 50.0 s (median) to 60.0 s (slowest): probing every 5 s, 180 s are allowed before a restart",
  );
});

const container = { name: "c", image: "web:1" };
const podOf = (namespace: string, name: string, ownerName?: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    namespace,
    name,
    ...(ownerName && {
      labels: { "pod-template-hash": "5d4f" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${ownerName}-5d4f`, uid: "u", controller: true },
      ],
    }),
  },
});
const web = podOf("shop", "web-5d4f-a", "web");

test("950-9 keeps durations by workload, container and image", () => {
  const times = createStartTimes();
  times.add(web, container, 10);
  times.add(podOf("shop", "web-5d4f-b", "web"), container, 20);
  times.add(web, { ...container, image: "web:2" }, 30);
  times.add(web, { ...container, name: "d" }, 40);
  times.add(podOf("bank", "web-5d4f-a", "web"), container, 50);
  times.add(podOf("shop", "api-5d4f-a", "api"), container, 60);
  times.add(podOf("shop", "alone"), container, 70);
  expect(times.of(web, container)).toEqual([10, 20]);
  expect(times.of(podOf("shop", "alone"), container)).toEqual([70]);
  expect(times.of(podOf("shop", "other"), container)).toEqual([]);
});

test("keeps the newest durations and removes the least recently used", () => {
  const times = createStartTimes();
  for (let start = 0; start < 60; start++) times.add(web, container, start);
  expect(times.of(web, container)).toEqual(Array.from({ length: 50 }, (_, i) => i + 10));
  for (let other = 0; other < 500; other++) times.add(web, { name: "c", image: `other:${other}` }, 1);
  expect(times.of(web, container)).toEqual([]);
});

const budget = (failureThreshold: number): Partial<Container> => ({
  startupProbe: { periodSeconds: 10, failureThreshold },
});
test.each<[string, Partial<Container>, boolean, "kept" | "dropped"]>([
  ["a starting container with less time", budget(10), false, "kept"],
  ["a starting container with as much time", budget(19), false, "dropped"],
  ["a starting container with more time", budget(60), false, "dropped"],
  ["a starting container without a startup probe", {}, false, "kept"],
  [
    "a starting container whose liveness probe allows more",
    { livenessProbe: { failureThreshold: 99 } },
    false,
    "dropped",
  ],
  ["a started container with more time", budget(60), true, "kept"],
])("950-9 a proposal of 180 s for %s is %s", (_, probes, started, expected) => {
  const advice = adviseStartupProbe([40_000, 60_000, 50_000]);
  const result = withoutSmallerBudget(advice, { container: { ...container, ...probes }, started });
  expect(result).toBe(expected === "kept" ? advice : undefined);
});

const image = "nginx:1.25";
const started = (atMs: number) => ({ kind: "running", startedAtMs: testStartMs + atMs }) as const;

/** Starts three containers in sequence, each with this start duration. */
async function startThrice(probes: object, upAfterMs: readonly number[], options = {}) {
  const test = createTestProber(() => (test.clock.now() >= upAtMs ? success : failure), options);
  const { pod } = makePodWith(probes);
  let upAtMs = 0;
  let atMs = 0;
  for (const [attempt, tookMs] of upAfterMs.entries()) {
    upAtMs = testStartMs + atMs + tookMs;
    const state = started(atMs);
    test.prober.observe(pod, observedPod(pod, [{ id: `start-${attempt}`, attempt, state }]));
    await test.clock.advance(100_000);
    atMs += 100_000;
  }
  return test.prober.startupAdvice(pod, { name: "c", image });
}

test("proposes a probe from observed startup probes", async () => {
  const startupProbe = probe("startup", { failureThreshold: 30 });
  expect(await startThrice({ ...allThree, startupProbe }, [40_000, 60_000, 50_000])).toEqual({
    periodSeconds: 5,
    failureThreshold: 37,
    slowestSeconds: 60,
    reason:
      "3 starts took 50.0 s (median) to 60.0 s (slowest): probing every 5 s, 180 s are allowed before a restart",
  });
});

test("uses the first readiness success if there is no startup probe", async () => {
  const advice = await startThrice({ readinessProbe: probe("readiness") }, [10_000, 30_000, 20_000]);
  expect(advice).toMatchObject({ slowestSeconds: 30, periodSeconds: 2 });
});

test("does not count becoming ready again as a start", async () => {
  const { prober, clock } = createTestProber(() => (clock.now() % 100_000 < 50_000 ? failure : success));
  const { pod } = makePodWith({ readinessProbe: probe("readiness") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(1_000_000);
  expect(prober.startupAdvice(pod, { name: "c", image })).toBeUndefined();
});

test("proposes nothing after two starts, and ignores starts before a restart of the kubelet", async () => {
  expect(await startThrice(allThree, [40_000, 60_000])).toBeUndefined();
  const later = { kubeletStartedAtMs: testStartMs + 1_000_000 };
  expect(await startThrice(allThree, [40_000, 60_000, 50_000], later)).toBeUndefined();
});
