import { expect, test } from "vitest";
import { makePod, makePodWith } from "../container/make-pod.fixture.ts";
import {
  allThree,
  createTestProber,
  failure,
  observedPod,
  probe,
  success,
  testStartMs,
} from "./prober.fixture.ts";

test("950-2 950-4 950-5 the startup probe alone until it succeeds, then the others at once", async () => {
  let up = false;
  const { prober, clock, calls, changes, timesOf } = createTestProber((name) =>
    name !== "startup" || up ? success : failure,
  );
  const { pod } = makePodWith(allThree);
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(35_000);
  expect(calls.map(({ name }) => name)).toEqual(["startup", "startup", "startup", "startup"]);
  expect(timesOf("startup")).toEqual([0, 10_000, 20_000, 30_000]);
  expect(prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
  expect(changes).toEqual([]);

  up = true;
  await clock.advance(25_000);
  expect(timesOf("startup")).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
  expect(timesOf("liveness")).toEqual([40_000, 50_000, 60_000]);
  expect(timesOf("readiness")).toEqual([40_000, 50_000, 60_000]);
  expect(prober.verdict(pod, "a")).toEqual({ started: true, ready: true });
  expect(changes).toEqual([
    { podUid: "u-1", atMs: 40_000 },
    { podUid: "u-1", atMs: 40_000 },
  ]);
});

test("950-4 with only a startup probe a container is ready with its success, in one change", async () => {
  const { prober, clock, changes } = createTestProber(() => success);
  const { pod } = makePodWith({ startupProbe: probe("startup") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  expect(prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
  await clock.advance(0);
  expect(prober.verdict(pod, "a")).toEqual({ started: true, ready: true });
  expect(changes).toEqual([{ podUid: "u-1", atMs: 0 }]);
});

test("950-1 without a startup probe started at once; without any probe ready as well", () => {
  const { prober } = createTestProber(() => success);
  const { pod: plain } = makePodWith({});
  prober.observe(plain, observedPod(plain, [{ id: "a" }]));
  expect(prober.verdict(plain, "a")).toEqual({ started: true, ready: true });

  const probed = makePod(
    { containers: [{ name: "c", image: "a", readinessProbe: probe("readiness") }] },
    { uid: "u-2" },
  );
  prober.observe(probed, observedPod(probed, [{ id: "b" }]));
  expect(prober.verdict(probed, "b")).toEqual({ started: true, ready: false });
});

test("950-8 with the gate off startup probes do not run and started is true", async () => {
  const features = { StartupProbeEnabled: false };
  const { prober, clock, calls } = createTestProber(() => failure, { features });
  const { pod } = makePodWith({ startupProbe: probe("startup"), livenessProbe: probe("liveness") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  expect(prober.verdict(pod, "a")).toEqual({ started: true, ready: true });
  await clock.advance(1_000);
  expect(calls.map(({ name }) => name)).toEqual(["liveness"]);
  expect(prober.startupBudget("a")).toBeUndefined();
});

test("950-3 too many failures of the startup probe kill; the next container begins again", async () => {
  const { prober, clock, timesOf, changes } = createTestProber(() => failure);
  const startupProbe = probe("startup", { failureThreshold: 3, terminationGracePeriodSeconds: 4 });
  const { pod } = makePodWith({ startupProbe });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(60_000);
  expect(timesOf("startup")).toEqual([0, 10_000, 20_000]);
  expect(changes).toEqual([{ podUid: "u-1", atMs: 20_000 }]);
  expect(prober.verdict(pod, "a")).toEqual({
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
  expect(prober.verdict(pod, "a").kill).toBeUndefined();
  expect(prober.verdict(pod, "b")).toEqual({ started: false, ready: false });
  await clock.advance(0);
  expect(timesOf("startup").at(-1)).toBe(60_000);
});

test("the startup budget can be asked for, and events tell of it twice", async () => {
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
