import { describe, expect, test } from "vitest";
import type { Pod, Probe } from "../../api/objects.ts";
import { makePod, makePodWith } from "../container/make-pod.fixture.ts";
import type { ProbeOutcome } from "./handler/probe-handler.ts";
import { createTestProber, observedPod, testStartMs } from "./prober.fixture.ts";

const success: ProbeOutcome = { kind: "success" };
const failure: ProbeOutcome = { kind: "failure", output: "no" };
const error: ProbeOutcome = { kind: "error", state: "unknown", message: "the runtime is away" };

const probe = (name: string, changes: Probe = {}): Probe => ({ exec: { command: [name] }, ...changes });
const allThree = {
  startupProbe: probe("startup", { failureThreshold: 30 }),
  livenessProbe: probe("liveness"),
  readinessProbe: probe("readiness"),
};

function known(pod: Pod, status: { started?: boolean; ready: boolean; containerID: string }): Pod {
  const one = { name: "c", image: "a", imageID: "", restartCount: 0, ...status };
  return { ...pod, status: { containerStatuses: [one] } };
}

describe("starting", () => {
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

  test("the initial delay counts from the container's start", async () => {
    const { prober, clock, timesOf } = createTestProber(() => success);
    const { pod } = makePodWith({ readinessProbe: probe("readiness", { initialDelaySeconds: 5 }) });
    const state = { kind: "running", startedAtMs: testStartMs - 2_000 } as const;
    prober.observe(pod, observedPod(pod, [{ id: "a", state }]));
    await clock.advance(20_000);
    expect(timesOf("readiness")).toEqual([3_000, 13_000]);
  });

  test("what was never seen running is neither started nor ready", () => {
    const { prober } = createTestProber(() => success);
    const { pod } = makePodWith({});
    prober.observe(pod, observedPod(pod, [{ id: "a", state: { kind: "created" } }]));
    expect(prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
  });
});

describe("killing", () => {
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

  test("a liveness probe kills after its threshold and holds", async () => {
    const { prober, clock, timesOf } = createTestProber(() => failure);
    const { pod } = makePodWith({ livenessProbe: probe("liveness", { periodSeconds: 1 }) });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(1_500);
    expect(prober.verdict(pod, "a").kill).toBeUndefined();
    await clock.advance(60_000);
    expect(timesOf("liveness")).toEqual([0, 1_000, 2_000]);
    expect(prober.verdict(pod, "a")).toMatchObject({ ready: true, kill: { probe: "liveness" } });
  });

  test("a sidecar is probed as main containers are", async () => {
    const { prober, clock, calls, events } = createTestProber(() => failure);
    const ports = [{ name: "admin", containerPort: 9901 }];
    const sidecar = {
      name: "side",
      image: "a",
      restartPolicy: "Always",
      ports,
      startupProbe: probe("startup", { failureThreshold: 1 }),
    };
    const pod = makePod({ initContainers: [sidecar] });
    prober.observe(pod, observedPod(pod, [{ id: "a", name: "side" }]));
    await clock.advance(0);
    expect(prober.verdict(pod, "a").kill?.message).toBe("Init container side failed startup probe");
    expect(events[0]?.fieldPath).toBe("spec.initContainers{side}");
    // Ports by name are its own.
    expect(calls[0]?.target.container.ports).toMatchObject(ports);
  });
});

describe("950-6 after a restart of the kubelet", () => {
  const restarted = { kubeletStartedAtMs: testStartMs, random: () => 0.25 };
  const state = { kind: "running", startedAtMs: testStartMs - 60_000 } as const;

  test("a started and ready container stays so until a probe says otherwise", async () => {
    const { prober, clock, timesOf, changes } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: true, ready: true, containerID: "containerd://a" });
    prober.observe(before, observedPod(pod, [{ id: "a", state }]));
    expect(prober.verdict(pod, "a")).toEqual({ started: true, ready: true });
    await clock.advance(22_000);
    expect(prober.verdict(pod, "a")).toEqual({ started: true, ready: true });
    await clock.advance(1_000);
    expect(prober.verdict(pod, "a")).toMatchObject({
      started: true,
      ready: false,
      kill: { probe: "liveness" },
    });
    expect(timesOf("startup")).toEqual([]);
    expect(timesOf("readiness")).toEqual([2_500, 12_500, 22_500]);
    expect(changes.length).toBeGreaterThan(0);
  });

  test("failures of the startup probe go on counting, until the container is gone", async () => {
    const failures = new Map<string, number>();
    const { pod } = makePodWith({ startupProbe: probe("startup", { failureThreshold: 5 }) });
    const first = createTestProber(() => failure, { failures });
    first.prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await first.clock.advance(25_000);
    first.prober.close();
    expect(failures).toEqual(new Map([["a", 3]]));

    const { prober, clock, timesOf } = createTestProber(() => failure, { ...restarted, failures });
    prober.observe(pod, observedPod(pod, [{ id: "a", state }]));
    expect(prober.startupBudget("a")?.text).toMatch(/^3 of 5 failures, /);
    await clock.advance(12_500);
    expect(timesOf("startup")).toEqual([2_500, 12_500]);
    expect(prober.verdict(pod, "a").kill?.probe).toBe("startup");
    prober.observe(pod, observedPod(pod, [{ id: "b" }]));
    expect(failures).toEqual(new Map());
  });

  test("asked before its first look, the prober repeats what the API says of that container", () => {
    const { prober } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: true, ready: true, containerID: "containerd://a" });
    expect(prober.verdict(before, "a")).toEqual({ started: true, ready: true });
    expect(prober.verdict(before, "b")).toEqual({ started: false, ready: false });
  });

  test("a starting one is not called started or ready", async () => {
    const { prober, clock, timesOf } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: false, ready: false, containerID: "containerd://a" });
    prober.observe(before, observedPod(pod, [{ id: "a", state }]));
    await clock.advance(15_000);
    expect(prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
    expect(timesOf("startup")).toEqual([2_500, 12_500]);
    expect(timesOf("liveness")).toEqual([]);
  });

  test("what the API says of an earlier container of that name does not count", () => {
    const { prober } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: true, ready: true, containerID: "containerd://older" });
    prober.observe(before, observedPod(pod, [{ id: "a", state }]));
    expect(prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
  });
});

describe("running", () => {
  test("ready follows the first success at once, and unready the last failure", async () => {
    const answers = [failure, success, failure, failure, failure];
    const { prober, clock, changes } = createTestProber(() => answers.shift() ?? success);
    const { pod } = makePodWith({ readinessProbe: probe("readiness", { periodSeconds: 1 }) });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(10_000);
    expect(changes.map(({ atMs }) => atMs)).toEqual([1_000, 4_000, 5_000]);
  });

  test("a look at a pod that is not ready brings its readiness probe forward", async () => {
    const { prober, clock, timesOf } = createTestProber(() => failure);
    const { pod } = makePodWith({ readinessProbe: probe("readiness"), livenessProbe: probe("liveness") });
    const observed = observedPod(pod, [{ id: "a" }]);
    prober.observe(pod, observed);
    await clock.advance(300);
    prober.observe(pod, observed);
    await clock.advance(1_700);
    prober.observe(pod, observed);
    await clock.advance(10_500);
    expect(timesOf("readiness")).toEqual([0, 2_000, 12_000]);
    expect(timesOf("liveness")).toEqual([0, 10_000]);
  });

  test("handlers get the pod's primary address, the timeout and the container", async () => {
    const { prober, clock, calls } = createTestProber(() => success);
    const { pod } = makePodWith({ livenessProbe: probe("liveness", { timeoutSeconds: 3 }) });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(0);
    expect(calls[0]).toMatchObject({
      timeoutMs: 3_000,
      target: { ip: "10.0.0.7", containerId: "a", container: { name: "c" } },
    });
  });

  test.each([
    ["192.168.0.7", "10.0.0.7"],
    ["fd00:1::1", "fd00::7"],
    [undefined, "10.0.0.7"],
  ])("on a node at %s a pod with two addresses is asked at %s", async (hostIp, expected) => {
    const { prober, clock, calls } = createTestProber(() => success, { hostIp });
    const { pod } = makePodWith({ livenessProbe: probe("liveness") });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(0);
    expect(calls[0]?.target.ip).toBe(expected);
  });

  test("a pod without an address of its own is asked at the node's", async () => {
    const { prober, clock, calls } = createTestProber(() => success, { hostIp: "192.168.0.7" });
    const { pod } = makePodWith({ livenessProbe: probe("liveness") });
    const { sandboxes, ...observed } = observedPod(pod, [{ id: "a" }]);
    prober.observe(pod, { ...observed, sandboxes: sandboxes.map((sandbox) => ({ ...sandbox, ips: [] })) });
    await clock.advance(0);
    expect(calls[0]?.target.ip).toBe("192.168.0.7");
  });

  test("an error is tried three times, then told and dropped", async () => {
    const { prober, clock, timesOf, events } = createTestProber(() => error);
    const { pod } = makePodWith({ livenessProbe: probe("liveness", { failureThreshold: 1 }) });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(9_000);
    expect(timesOf("liveness")).toEqual([0, 0, 0]);
    expect(events.map(({ message }) => message)).toEqual([
      "Liveness probe errored and resulted in unknown state: the runtime is away",
    ]);
    expect(prober.verdict(pod, "a").kill).toBeUndefined();
  });

  test("a handler that throws is an error, not the end of the probe", async () => {
    const { prober, clock, timesOf } = createTestProber(() => Promise.reject(new Error("broken")));
    const { pod } = makePodWith({ livenessProbe: probe("liveness") });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(10_000);
    expect(timesOf("liveness")).toHaveLength(6);
  });

  test("a slow probe is not started twice", async () => {
    let answer = (_: ProbeOutcome) => {};
    const slow = () => new Promise<ProbeOutcome>((resolve) => (answer = resolve));
    const { prober, clock, timesOf } = createTestProber(slow);
    const { pod } = makePodWith({
      readinessProbe: probe("readiness", { periodSeconds: 1, timeoutSeconds: 60 }),
    });
    const observed = observedPod(pod, [{ id: "a" }]);
    prober.observe(pod, observed);
    await clock.advance(5_300);
    prober.observe(pod, observed);
    expect(timesOf("readiness")).toEqual([0]);
    answer(failure);
    await clock.advance(0);
    expect(timesOf("readiness")).toEqual([0, 5_300]);
  });

  test("events have upstream's texts", async () => {
    const { prober, clock, events } = createTestProber((name) =>
      name === "startup" ? { kind: "warning", output: "redirected" } : failure,
    );
    const { pod } = makePodWith(allThree);
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(0);
    const about = { type: "Warning", fieldPath: "spec.containers{c}" };
    expect(events).toEqual([
      { ...about, reason: "ProbeWarning", message: "Startup probe warning: redirected" },
      { ...about, reason: "Unhealthy", message: "Liveness probe failed: no" },
      { ...about, reason: "Unhealthy", message: "Readiness probe failed: no" },
    ]);
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
});

describe("the startup advisor", () => {
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
});

describe("ending", () => {
  test("a pod that ends is probed for readiness only", async () => {
    const { prober, clock, timesOf } = createTestProber((name) => (name === "startup" ? success : failure));
    const { pod } = makePodWith(allThree);
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(10_500);
    prober.stopping("u-1");
    await clock.advance(30_000);
    expect(timesOf("liveness")).toEqual([0, 10_000]);
    expect(timesOf("readiness")).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
    expect(prober.verdict(pod, "a")).toEqual({ started: true, ready: false });
  });

  test("950-4 a container that had not started when its pod ended does not become ready", async () => {
    let answer = (_: ProbeOutcome) => {};
    const slow = () => new Promise<ProbeOutcome>((resolve) => (answer = resolve));
    const { prober, clock, calls } = createTestProber(slow);
    const { pod } = makePodWith({ startupProbe: probe("startup") });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    prober.stopping("u-1");
    expect(calls[0]?.signal.aborted).toBe(true);
    answer(success);
    await clock.advance(60_000);
    expect(prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
    expect(calls).toHaveLength(1);
  });

  test("a container that is seen running only after the pod began to end is not killed by probes", async () => {
    const { prober, clock, calls } = createTestProber(() => failure);
    const { pod } = makePodWith({ livenessProbe: probe("liveness", { failureThreshold: 1 }) });
    prober.stopping("u-1");
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(60_000);
    expect(prober.verdict(pod, "a").kill).toBeUndefined();
    expect(calls).toEqual([]);
  });

  test("a pod that is found ending after a restart of the kubelet is not killed by probes either", async () => {
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
  test.each(ends)("%s ends its probes, also one under way", async (_name, end) => {
    let answer = (_: ProbeOutcome) => {};
    const slow = () => new Promise<ProbeOutcome>((resolve) => (answer = resolve));
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
    expect(set.prober.verdict(pod, "a")).toEqual({ started: false, ready: false });
  });

  test("metrics go with the pod", async () => {
    const { prober, clock, registry } = createTestProber(() => success);
    const { pod } = makePodWith({ livenessProbe: probe("liveness") });
    prober.observe(pod, observedPod(pod, [{ id: "a" }]));
    await clock.advance(10_000);
    expect(await registry.metrics()).toContain('result="successful"} 2');
    prober.forget("u-1");
    expect(await registry.metrics()).not.toContain("u-1");
  });
});
