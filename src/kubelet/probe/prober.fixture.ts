import { defaultFeatures, type Features } from "../../api/feature-gates.ts";
import type { Pod, Probe } from "../../api/objects.ts";
import type { EventToRecord } from "../../client/event-recorder.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMetrics } from "../../lib/metrics.ts";
import type { ObservedContainer, ObservedPod } from "../observed-pod.ts";
import { createProber } from "./create-prober.ts";
import type { ProbeOutcome, ProbeTarget } from "./handler/probe-handler.ts";
import { createProbeMetrics } from "./probe-metrics.ts";

export const success: ProbeOutcome = { kind: "success" };
export const failure: ProbeOutcome = { kind: "failure", output: "no" };

/** A probe with this name for a command. */
export const probe = (name: string, changes: Probe = {}): Probe => ({
  exec: { command: [name] },
  ...changes,
});

/** The probes of a container that has one of each kind. */
export const allThree = {
  startupProbe: probe("startup", { failureThreshold: 30 }),
  livenessProbe: probe("liveness"),
  readinessProbe: probe("readiness"),
};

/** A probe that answers when it is told to. */
export function slowProbe() {
  let resolve = (_: ProbeOutcome) => {};
  const slow = () =>
    new Promise<ProbeOutcome>((settle) => {
      resolve = settle;
    });
  return { slow, answer: (outcome: ProbeOutcome) => resolve(outcome) };
}

/** When the tests begin; the kubelet has run for a while by then. */
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
  /** Failures of startup probes by container id, kept over a restart of the kubelet. */
  readonly failures?: Map<string, number>;
}

/** For tests: a prober on a clock that stands still; probes are told apart by the first word of their command. */
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
    notes: {
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
    /** When the probes of that name ran, in milliseconds from the beginning. */
    timesOf: (name: string) => calls.filter((call) => call.name === name).map(({ atMs }) => atMs),
  };
}

/** For tests: a pod of one sandbox, its containers running unless told. */
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
