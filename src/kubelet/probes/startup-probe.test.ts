import { expect, test } from "vitest";
import { startupBudget } from "../../api/pod/startup-budget.ts";
import { makePod, makePodWith } from "../containers/make-pod.fixture.ts";
import {
  allThree,
  createTestProber,
  failure,
  observedPod,
  probe,
  success,
  testStartMs,
} from "../model/prober.fixture.ts";
import { shouldRecordBudget } from "./probe-container.ts";

test("950-2 950-4 950-5 runs only the startup probe until it succeeds, then the others immediately", async () => {
  let up = false;
  const { prober, clock, calls, changes, timesOf } = createTestProber((name) =>
    name !== "startup" || up ? success : failure,
  );
  const { pod } = makePodWith(allThree);
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(35_000);
  expect(calls.map(({ name }) => name)).toEqual(["startup", "startup", "startup", "startup"]);
  expect(timesOf("startup")).toEqual([0, 10_000, 20_000, 30_000]);
  expect(prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
  expect(changes).toEqual([]);

  up = true;
  await clock.advance(25_000);
  expect(timesOf("startup")).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
  expect(timesOf("liveness")).toEqual([40_000, 50_000, 60_000]);
  expect(timesOf("readiness")).toEqual([40_000, 50_000, 60_000]);
  expect(prober.probeResult(pod, "a")).toEqual({ started: true, ready: true });
  expect(changes).toEqual([
    { podUid: "u-1", atMs: 40_000 },
    { podUid: "u-1", atMs: 40_000 },
  ]);
});

test("950-4 with only a startup probe, a container becomes started and ready in one change", async () => {
  const { prober, clock, changes } = createTestProber(() => success);
  const { pod } = makePodWith({ startupProbe: probe("startup") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  expect(prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
  await clock.advance(0);
  expect(prober.probeResult(pod, "a")).toEqual({ started: true, ready: true });
  expect(changes).toEqual([{ podUid: "u-1", atMs: 0 }]);
});

test("950-1 without a startup probe, a container is started; without any probe, also ready", () => {
  const { prober } = createTestProber(() => success);
  const { pod: plain } = makePodWith({});
  prober.observe(plain, observedPod(plain, [{ id: "a" }]));
  expect(prober.probeResult(plain, "a")).toEqual({ started: true, ready: true });

  const probed = makePod(
    { containers: [{ name: "c", image: "a", readinessProbe: probe("readiness") }] },
    { uid: "u-2" },
  );
  prober.observe(probed, observedPod(probed, [{ id: "b" }]));
  expect(prober.probeResult(probed, "b")).toEqual({ started: true, ready: false });
});

test("950-8 with the gate disabled, startup probes do not run and started is true", async () => {
  const features = { StartupProbeEnabled: false };
  const { prober, clock, calls } = createTestProber(() => failure, { features });
  const { pod } = makePodWith({ startupProbe: probe("startup"), livenessProbe: probe("liveness") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  expect(prober.probeResult(pod, "a")).toEqual({ started: true, ready: true });
  await clock.advance(1_000);
  expect(calls.map(({ name }) => name)).toEqual(["liveness"]);
  expect(prober.startupBudget("a")).toBeUndefined();
});

test("950-3 reaching the failure threshold of the startup probe kills; the next container starts from 0", async () => {
  const { prober, clock, timesOf, changes } = createTestProber(() => failure);
  const startupProbe = probe("startup", { failureThreshold: 3, terminationGracePeriodSeconds: 4 });
  const { pod } = makePodWith({ startupProbe });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(60_000);
  expect(timesOf("startup")).toEqual([0, 10_000, 20_000]);
  expect(changes).toEqual([{ podUid: "u-1", atMs: 20_000 }]);
  expect(prober.probeResult(pod, "a")).toEqual({
    started: false,
    ready: false,
    kill: {
      probe: "startup",
      message: "Container c failed startup probe, will be restarted",
      gracePeriodSeconds: 4,
    },
  });

  const state = { kind: "running", startedAtMs: testStartMs + 60_000 } as const;
  prober.observe(pod, observedPod(pod, [{ id: "b", attempt: 1, state }]));
  expect(prober.probeResult(pod, "a").kill).toBeUndefined();
  expect(prober.probeResult(pod, "b")).toEqual({ started: false, ready: false });
  await clock.advance(0);
  expect(timesOf("startup").at(-1)).toBe(60_000);
});

test("serves the startup budget and records it in two events", async () => {
  const { prober, clock, events } = createTestProber(() => failure);
  const { pod } = makePodWith(allThree);
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(20_000);
  expect(prober.startupBudget("a")?.text).toBe("3 of 30 failures, at most 270 s left");
  await clock.advance(290_000);
  expect(events.filter(({ reason }) => reason === "StartupBudget")).toEqual([
    {
      type: "Normal",
      reason: "StartupBudget",
      message: "Container c has not started: 15 of 30 failures, at most 150 s left",
      fieldPath: "spec.containers{c}",
    },
    expect.objectContaining({
      message: "Container c has not started: 29 of 30 failures, at most 10 s left",
    }),
  ]);
  expect(prober.startupBudget("a")).toBeUndefined();
});

test.each([
  [30, [15, 29]],
  [7, [4, 6]],
  [6, [3, 5]],
  [5, []],
  [1, []],
])("with a threshold of %d, records the budget after failures %j", (failureThreshold, expected) => {
  const recorded = Array.from({ length: failureThreshold }, (_, failures) =>
    startupBudget({ failures, failureThreshold, periodMs: 1_000, nextProbeAtMs: 0, now: 0 }),
  ).filter(shouldRecordBudget);
  expect(recorded.map(({ failures }) => failures)).toEqual(expected);
});
