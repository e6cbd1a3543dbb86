import { expect, test } from "vitest";
import { makePod, makePodWith } from "../containers/make-pod.fixture.ts";
import {
  allThree,
  createTestProber,
  failure,
  observedPod,
  probe,
  slowProbe,
  success,
  testStartMs,
} from "../model/prober.fixture.ts";

test("the initial delay counts from the container's start", async () => {
  const { prober, clock, timesOf } = createTestProber(() => success);
  const { pod } = makePodWith({ readinessProbe: probe("readiness", { initialDelaySeconds: 5 }) });
  const state = { kind: "running", startedAtMs: testStartMs - 2_000 } as const;
  prober.observe(pod, observedPod(pod, [{ id: "a", state }]));
  await clock.advance(20_000);
  expect(timesOf("readiness")).toEqual([3_000, 13_000]);
});

test("a container that was never observed running is neither started nor ready", () => {
  const { prober } = createTestProber(() => success);
  const { pod } = makePodWith({});
  prober.observe(pod, observedPod(pod, [{ id: "a", state: { kind: "created" } }]));
  expect(prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
});

test("becomes ready with the first success and unready with the last failure", async () => {
  const answers = [failure, success, failure, failure, failure];
  const { prober, clock, changes } = createTestProber(() => answers.shift() ?? success);
  const { pod } = makePodWith({ readinessProbe: probe("readiness", { periodSeconds: 1 }) });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(10_000);
  expect(changes.map(({ atMs }) => atMs)).toEqual([1_000, 4_000, 5_000]);
});

test("a sync of an unready pod runs its readiness probe early", async () => {
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
])("on a node at %s a dual-stack pod is probed at %s", async (hostIp, expected) => {
  const { prober, clock, calls } = createTestProber(() => success, { hostIp });
  const { pod } = makePodWith({ livenessProbe: probe("liveness") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(0);
  expect(calls[0]?.target.ip).toBe(expected);
});

test("a pod without an address is probed at the node's address", async () => {
  const { prober, clock, calls } = createTestProber(() => success, { hostIp: "192.168.0.7" });
  const { pod } = makePodWith({ livenessProbe: probe("liveness") });
  const { sandboxes, ...observed } = observedPod(pod, [{ id: "a" }]);
  prober.observe(pod, { ...observed, sandboxes: sandboxes.map((sandbox) => ({ ...sandbox, ips: [] })) });
  await clock.advance(0);
  expect(calls[0]?.target.ip).toBe("192.168.0.7");
});

test("an error is retried twice, then recorded and ignored", async () => {
  const { prober, clock, timesOf, events } = createTestProber(() => ({
    kind: "error",
    state: "unknown",
    message: "the runtime is away",
  }));
  const { pod } = makePodWith({ livenessProbe: probe("liveness", { failureThreshold: 1 }) });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(9_000);
  expect(timesOf("liveness")).toEqual([0, 0, 0]);
  expect(events.map(({ message }) => message)).toEqual([
    "Liveness probe errored and resulted in unknown state: the runtime is away",
  ]);
  expect(prober.probeResult(pod, "a").kill).toBeUndefined();
});

test("an exception of a handler is an error and does not stop the probe", async () => {
  const { prober, clock, timesOf } = createTestProber(() => Promise.reject(new Error("broken")));
  const { pod } = makePodWith({ livenessProbe: probe("liveness") });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(10_000);
  expect(timesOf("liveness")).toHaveLength(6);
});

test("a slow probe is not started twice", async () => {
  const { slow, answer } = slowProbe();
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

test("events have the texts of upstream", async () => {
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

test("a liveness probe kills after its threshold and stops", async () => {
  const { prober, clock, timesOf } = createTestProber(() => failure);
  const { pod } = makePodWith({ livenessProbe: probe("liveness", { periodSeconds: 1 }) });
  prober.observe(pod, observedPod(pod, [{ id: "a" }]));
  await clock.advance(1_500);
  expect(prober.probeResult(pod, "a").kill).toBeUndefined();
  await clock.advance(60_000);
  expect(timesOf("liveness")).toEqual([0, 1_000, 2_000]);
  expect(prober.probeResult(pod, "a")).toMatchObject({ ready: true, kill: { probe: "liveness" } });
});

test("a sidecar is probed like main containers", async () => {
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
  expect(prober.probeResult(pod, "a").kill?.message).toBe("Init container side failed startup probe");
  expect(events[0]?.fieldPath).toBe("spec.initContainers{side}");
  // Port names refer to the sidecar's own ports.
  expect(calls[0]?.target.container.ports).toMatchObject(ports);
});
