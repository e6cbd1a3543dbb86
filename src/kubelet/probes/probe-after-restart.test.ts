import { describe, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { makePodWith } from "../containers/make-pod.fixture.ts";
import {
  allThree,
  createTestProber,
  failure,
  observedPod,
  probe,
  testStartMs,
} from "../model/prober.fixture.ts";

function known(pod: Pod, status: { started?: boolean; ready: boolean; containerID: string }): Pod {
  const one = { name: "c", image: "a", imageID: "", restartCount: 0, ...status };
  return { ...pod, status: { containerStatuses: [one] } };
}

describe("950-6 after a restart of the kubelet", () => {
  const restarted = { kubeletStartedAtMs: testStartMs, random: () => 0.25 };
  const state = { kind: "running", startedAtMs: testStartMs - 60_000 } as const;

  test("a started and ready container stays so until a probe fails", async () => {
    const { prober, clock, timesOf, changes } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: true, ready: true, containerID: "containerd://a" });
    prober.observe(before, observedPod(pod, [{ id: "a", state }]));
    expect(prober.probeResult(pod, "a")).toEqual({ started: true, ready: true });
    await clock.advance(22_000);
    expect(prober.probeResult(pod, "a")).toEqual({ started: true, ready: true });
    await clock.advance(1_000);
    expect(prober.probeResult(pod, "a")).toMatchObject({
      started: true,
      ready: false,
      kill: { probe: "liveness" },
    });
    expect(timesOf("startup")).toEqual([]);
    expect(timesOf("readiness")).toEqual([2_500, 12_500, 22_500]);
    expect(changes.map(({ atMs }) => atMs)).toEqual([22_500, 22_500]);
  });

  test("failures of the startup probe continue to count until the container is gone", async () => {
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
    expect(prober.probeResult(pod, "a").kill?.probe).toBe("startup");
    prober.observe(pod, observedPod(pod, [{ id: "b" }]));
    expect(failures).toEqual(new Map());
  });

  test("before the first observation, returns the status in the API", () => {
    const { prober } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: true, ready: true, containerID: "containerd://a" });
    expect(prober.probeResult(before, "a")).toEqual({ started: true, ready: true });
    expect(prober.probeResult(before, "b")).toEqual({ started: false, ready: false });
  });

  test("a starting container is neither started nor ready", async () => {
    const { prober, clock, timesOf } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: false, ready: false, containerID: "containerd://a" });
    prober.observe(before, observedPod(pod, [{ id: "a", state }]));
    await clock.advance(15_000);
    expect(prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
    expect(timesOf("startup")).toEqual([2_500, 12_500]);
    expect(timesOf("liveness")).toEqual([]);
  });

  test("ignores the status of an earlier container of that name", () => {
    const { prober } = createTestProber(() => failure, restarted);
    const { pod } = makePodWith(allThree);
    const before = known(pod, { started: true, ready: true, containerID: "containerd://older" });
    prober.observe(before, observedPod(pod, [{ id: "a", state }]));
    expect(prober.probeResult(pod, "a")).toEqual({ started: false, ready: false });
  });
});
