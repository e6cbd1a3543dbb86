import { defaultFeatures, type Features } from "../../api/meta/feature-gates.ts";
import type { Pod, Probe } from "../../api/meta/objects.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { createProber } from "../probes/create-prober.ts";
import type { ProbeOutcome, ProbeTarget } from "../probes/handler/probe-handler.ts";
import { createProbeMetrics } from "../probes/probe-metrics.ts";
import type { ObservedContainer, ObservedPod } from "./observed-pod.ts";

export const success: ProbeOutcome = { kind: "success" };
export const failure: ProbeOutcome = { kind: "failure", output: "no" };

/** Exec probe whose command is this name. */
export const probe = (name: string, changes: Probe = {}): Probe => ({
  exec: { command: [name] },
  ...changes,
});

/** Probes of a container that has one of each kind. */
export const allThree = {
  startupProbe: probe("startup", { failureThreshold: 30 }),
  livenessProbe: probe("liveness"),
  readinessProbe: probe("readiness"),
};

/** Probe that responds when the test calls `answer`. */
export function slowProbe() {
  let resolve = (_: ProbeOutcome) => {};
  const slow = () =>
    new Promise<ProbeOutcome>((settle) => {
      resolve = settle;
    });
  return { slow, answer: (outcome: ProbeOutcome) => resolve(outcome) };
}

/** Start time of the tests; the kubelet has been running for a while by then. */
export const testStartMs = 10_000_000;

interface ProbeCall {
  readonly name: string;
  readonly atMs: number;
  readonly target: ProbeTarget;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

type Script = ProbeOutcome | Promise<ProbeOutcome>;

interface FixtureOptions {
  readonly features?: Partial<Features>;
  readonly kubeletStartedAtMs?: number;
  readonly random?: () => number;
  readonly hostIp?: string;
  /** Failures of startup probes by container id; survives a restart of the kubelet. */
  readonly failures?: Map<string, number>;
}

/** Prober on a manual clock for tests. Probes are identified by the first word of their command. */
export function createTestProber(answer: (name: string) => Script, options: FixtureOptions = {}) {
  const clock = createManualClock(testStartMs);
  const calls: ProbeCall[] = [];
  const events: EventToRecord[] = [];
  const changes: { podUid: string; atMs: number }[] = [];
  const failures = options.failures ?? new Map<string, number>();
  const metrics = createMetrics();
  const prober = createProber({
    handlers: async ({ exec }, target, { timeoutMs, signal }) => {
      const name = exec?.command?.[0] ?? "";
      calls.push({ name, atMs: clock.now() - testStartMs, target, timeoutMs, signal });
      return answer(name);
    },
    recorder: { record: (_about, event) => void events.push(event) },
    checkpoints: {
      startupFailures: (_podUid, id) => failures.get(id) ?? 0,
      startupFailed: (_podUid, id) => void failures.set(id, (failures.get(id) ?? 0) + 1),
      startupEnded: (_podUid, id) => void failures.delete(id),
    },
    clock,
    features: { ...defaultFeatures, ...options.features },
    kubeletStartedAtMs: options.kubeletStartedAtMs ?? 0,
    random: options.random ?? (() => 0.5),
    metrics: createProbeMetrics(metrics),
    logger: silentLogger,
    hostIp: () => options.hostIp,
  });
  prober.onChange((podUid) => changes.push({ podUid, atMs: clock.now() - testStartMs }));
  return {
    prober,
    clock,
    calls,
    events,
    changes,
    metrics,
    /** Times at which the probes of that name ran, in milliseconds since the start. */
    timesOf: (name: string) => calls.filter((call) => call.name === name).map(({ atMs }) => atMs),
  };
}

/** Pod with one sandbox for tests. Its containers are running by default. */
export function observedPod(
  pod: Pod,
  containers: readonly (Pick<ObservedContainer, "id"> & Partial<ObservedContainer>)[],
): ObservedPod {
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  return {
    uid,
    namespace,
    name,
    sandboxes: [
      { id: "s-1", attempt: 0, ready: true, createdAtMs: testStartMs, ips: ["10.0.0.7", "fd00::7"] },
    ],
    containers: containers.map((container) => ({
      name: "c",
      sandboxId: "s-1",
      attempt: 0,
      createdAtMs: testStartMs,
      state: { kind: "running", startedAtMs: testStartMs },
      image: "a",
      imageRef: "sha256:a",
      specHash: "h",
      restartDelayMs: 0,
      logPath: "/log",
      ...container,
    })),
  };
}
