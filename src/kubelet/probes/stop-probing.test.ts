import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { makePodWith } from "../containers/make-pod.fixture.ts";
import {
  allThree,
  createTestProber,
  failure,
  observedPod,
  probe,
  slowProbe,
  success,
} from "../model/prober.fixture.ts";

test("a terminating pod is probed for readiness only", async () => {
  const { prober, clock, timesOf } = createTestProber((name) => (name === "startup" ? success : failure));
  const { pod } = makePodWith(allThree);
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(10_500);
  prober.stopping("u-1");
  await clock.advance(30_000);
  expect(timesOf("liveness")).toEqual([0, 10_000]);
  expect(timesOf("readiness")).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
  expect(prober.probeResult(pod, "a")).toEqual({ started: true, ready: false });
});

test("950-4 a container that had not started when its pod terminated does not become ready", async () => {
  const { slow, answer } = slowProbe();
  const { prober, clock, calls } = createTestProber(slow);
  const { pod } = makePodWith({ startupProbe: probe("startup") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  prober.stopping("u-1");
  expect(calls[0]?.signal.aborted).toBe(true);
  answer(success);
  await clock.advance(60_000);
  expect(prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
  expect(calls).toHaveLength(1);
});

test("a container that is first observed in a terminating pod is not killed by probes", async () => {
  const { prober, clock, calls } = createTestProber(() => failure);
  const { pod } = makePodWith({ livenessProbe: probe("liveness", { failureThreshold: 1 }) });
  prober.stopping("u-1");
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(60_000);
  expect(prober.probeResult(pod, "a").kill).toBeUndefined();
  expect(calls).toEqual([]);
});

test("a pod that terminates during a restart of the kubelet is not killed by probes", async () => {
  const { prober, clock, timesOf } = createTestProber(() => failure);
  const { pod } = makePodWith({ livenessProbe: probe("liveness"), readinessProbe: probe("readiness") });
  const ending = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  prober.observe(ending, observedPod(pod, [{ id: "a" }]));
  await clock.advance(15_000);
  expect(timesOf("liveness")).toEqual([]);
  expect(timesOf("readiness")).toEqual([0, 10_000]);
});

const ends: [string, (set: ReturnType<typeof createTestProber>, pod: Pod) => void][] = [
  ["a container that exits", ({ prober }, pod) => prober.observe(pod, observedPod(pod, []))],
  ["a pod that is gone", ({ prober }) => prober.forget("u-1")],
  ["a kubelet that stops", ({ prober }) => prober.close()],
];
test.each(ends)("%s stops its probes, including a running one", async (_name, end) => {
  const { slow, answer } = slowProbe();
  const set = createTestProber(slow);
  const { pod } = makePodWith({ livenessProbe: probe("liveness", { failureThreshold: 1 }) });
  set.prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await set.clock.advance(0);
  end(set, pod);
  expect(set.calls[0]?.signal.aborted).toBe(true);
  answer(failure);
  await set.clock.advance(60_000);
  expect(set.calls).toHaveLength(1);
  expect(set.events).toEqual([]);
  expect(set.changes).toEqual([]);
  expect(set.prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
});

test("removes metrics with the pod", async () => {
  const { prober, clock, metrics } = createTestProber(() => success);
  const { pod } = makePodWith({ livenessProbe: probe("liveness") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(10_000);
  expect(metrics.text()).toContain('result="successful"} 2');
  prober.forget("u-1");
  expect(metrics.text()).not.toContain("u-1");
});
