import { expect, test } from "vitest";
import { makePodWith } from "../container/make-pod.fixture.ts";
import {
  allThree,
  createTestProber,
  failure,
  observedPod,
  probe,
  success,
  testStartMs,
} from "./prober.fixture.ts";

const image = "nginx:1.25";
const started = (atMs: number) => ({ kind: "running", startedAtMs: testStartMs + atMs }) as const;

/** Three containers, one after the other, of which each is up after so long. */
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
  return test.prober.startupAdvice("shop", { name: "c", image });
}

test("proposes from what it has seen of startup probes", async () => {
  const startupProbe = probe("startup", { failureThreshold: 30 });
  expect(await startThrice({ ...allThree, startupProbe }, [40_000, 60_000, 50_000])).toEqual({
    periodSeconds: 5,
    failureThreshold: 37,
    slowestSeconds: 60,
    reason:
      "3 starts took 50.0 s (median) to 60.0 s (slowest): probing every 5 s, 180 s are allowed before a restart",
  });
});

test("goes by the first success of readiness where there is no startup probe", async () => {
  const advice = await startThrice({ readinessProbe: probe("readiness") }, [10_000, 30_000, 20_000]);
  expect(advice).toMatchObject({ slowestSeconds: 30, periodSeconds: 2 });
});

test("does not take a comeback for a start", async () => {
  const { prober, clock } = createTestProber(() => (clock.now() % 100_000 < 50_000 ? failure : success));
  const { pod } = makePodWith({ readinessProbe: probe("readiness") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(1_000_000);
  expect(prober.startupAdvice("shop", { name: "c", image })).toBeUndefined();
});

test("says nothing after two, nor of what a kubelet before has started", async () => {
  expect(await startThrice(allThree, [40_000, 60_000])).toBeUndefined();
  const later = { kubeletStartedAtMs: testStartMs + 1_000_000 };
  expect(await startThrice(allThree, [40_000, 60_000, 50_000], later)).toBeUndefined();
});
