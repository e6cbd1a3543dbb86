// Clauses: 950-2
import type { Pod, Probe } from "../../api/meta/objects.ts";
import { type StartupBudget, startupBudget } from "../../api/pod/startup-budget.ts";
import type { TimerQueue } from "../../lib/timer-queue.ts";
import { containerFieldPath } from "../model/cri-labels.ts";
import type { CombinedProbeResult } from "../model/observed-pod.ts";
import type { StartupCheckpoints } from "../model/startup-checkpoints.ts";
import {
  beginProbe,
  combineProbeResults,
  decideProbe,
  type ProbeAnswer,
  type ProbedContainer,
  type ProbeInput,
  type ProbeKind,
  type ProbePlan,
  type ProbeState,
  planProbe,
} from "./decide-probe.ts";
import type { ProbeMetrics, ProbeSeries } from "./probe-metrics.ts";
import { type RunProbeDeps, runProbe } from "./run-probe.ts";
import type { StartTimes } from "./startup-advice.ts";

export interface ProbeContainerDeps extends RunProbeDeps {
  readonly timers: TimerQueue;
  readonly metrics: ProbeMetrics;
  readonly checkpoints: Pick<StartupCheckpoints, "startupFailures" | "startupFailed" | "startupEnded">;
  readonly startTimes: StartTimes;
  readonly kubeletStartedAtMs: number;
  readonly random: () => number;
  readonly onChange: (podUid: string) => void;
}

/** Running container. */
export interface RunningContainer extends ProbedContainer {
  readonly id: string;
  readonly startedAtMs: number;
  /** Last status in the API of this container, for a restarted kubelet. */
  readonly known: { readonly started: boolean; readonly ready: boolean };
}

/** Facts that can change while a container runs. */
export interface ContainerContext {
  readonly pod: Pod;
  readonly ip: string | undefined;
}

export interface ContainerProbes {
  probeResult(): CombinedProbeResult;
  /** Undefined if there is no startup probe or it has succeeded. */
  startupBudget(): StartupBudget | undefined;
  /** Updates pod and address after a sync. */
  update(context: ContainerContext): void;
  stop(): void;
  /** Called when the container has exited, before `end`. */
  exited(): void;
  end(): void;
}

interface Worker {
  readonly plan: ProbePlan;
  readonly probe: Probe;
  readonly series: ProbeSeries;
  readonly abort: AbortController;
  readonly onDue: () => void;
  state: ProbeState;
  cancelTimer: (() => void) | undefined;
}

/** Runs the probes of one container until `end`. */
export function probeContainer(
  deps: ProbeContainerDeps,
  running: RunningContainer,
  begin: ContainerContext & { readonly startupProbes: boolean; readonly stopping: boolean },
): ContainerProbes {
  const { clock, timers } = deps;
  const { container } = running;
  const podUid = begin.pod.metadata.uid ?? "";
  let { pod, ip } = begin;
  // A container from before a restart of the kubelet may have become ready long ago.
  let startRecorded = running.startedAtMs < deps.kubeletStartedAtMs;
  const specs: readonly [ProbeKind, Probe | undefined][] = [
    ["startup", begin.startupProbes ? container.startupProbe : undefined],
    ["liveness", container.livenessProbe],
    ["readiness", container.readinessProbe],
  ];
  const hasStartup = specs.some(([kind, probe]) => kind === "startup" && probe);
  const workers = specs.flatMap(([kind, probe]) => (probe ? [createWorker(kind, probe)] : []));
  const startup = workers.find(({ plan }) => plan.kind === "startup");
  for (const worker of workers) follow(worker);

  function createWorker(kind: ProbeKind, probe: Probe): Worker {
    const plan = planProbe(kind, probe);
    const now = clock.now();
    const first = beginProbe(plan, {
      now,
      containerStartedAtMs: running.startedAtMs,
      kubeletStartedAtMs: deps.kubeletStartedAtMs,
      started: !hasStartup || running.known.started,
      ready: running.known.ready,
      failures: kind === "startup" ? failuresBefore() : 0,
      random: deps.random(),
    });
    const state = begin.stopping ? decideProbe(plan, first, { input: { kind: "stop" }, now }).state : first;
    const series = deps.metrics.of(pod, container.name, kind);
    const onDue = () => void step(worker, { kind: "tick" });
    const worker: Worker = {
      plan,
      probe,
      series,
      abort: new AbortController(),
      onDue,
      state,
      cancelTimer: undefined,
    };
    return worker;
  }

  /** Returns the failures that were counted before the kubelet restarted. */
  function failuresBefore(): number {
    if (running.startedAtMs >= deps.kubeletStartedAtMs) return 0;
    return deps.checkpoints.startupFailures(podUid, running.id);
  }

  function step(worker: Worker, input: ProbeInput): ReturnType<typeof decideProbe>["change"] {
    const { state, change } = decideProbe(worker.plan, worker.state, { input, now: clock.now() });
    if (state !== worker.state) {
      worker.state = state;
      worker.cancelTimer?.();
      follow(worker);
    }
    return change;
  }

  /** Sets a timer or starts a probe, as the state requires. */
  function follow(worker: Worker): void {
    const { state } = worker;
    if (state.kind === "due") worker.cancelTimer = timers.at(state.atMs, worker.onDue);
    else if (state.kind === "probing") void probe(worker);
  }

  async function probe(worker: Worker): Promise<void> {
    const { plan, probe, series, abort } = worker;
    const target = { container, containerId: running.id, ip };
    const run = { pod, subject: running, probe, plan, target, series, signal: abort.signal };
    const result = await runProbe(deps, run);
    if (result === undefined) return;
    const change = step(worker, { kind: "result", result });
    if (worker === startup && result === "failure") {
      deps.checkpoints.startupFailed(podUid, running.id);
      recordBudget();
    }
    if (change === "started" || (change === "ready" && !startup)) recordStart();
    if (change === "started") {
      deps.checkpoints.startupEnded(podUid, running.id);
      for (const other of workers) step(other, { kind: "started" });
    }
    if (change) deps.onChange(podUid);
  }

  function recordStart(): void {
    if (startRecorded) return;
    startRecorded = true;
    deps.startTimes.add(pod, container, clock.now() - running.startedAtMs);
  }

  function recordBudget(): void {
    const budget = readBudget();
    if (!budget || !shouldRecordBudget(budget)) return;
    const message = `Container ${container.name} has not started: ${budget.text}`;
    const fieldPath = containerFieldPath(pod, container.name);
    deps.recorder.record(pod, { type: "Normal", reason: "StartupBudget", message, fieldPath });
  }

  function readBudget(): StartupBudget | undefined {
    if (startup?.state.kind !== "due" && startup?.state.kind !== "probing") return undefined;
    const { plan, state } = startup;
    const now = clock.now();
    const failures = state.streak.result === "failure" ? state.streak.length : 0;
    const nextProbeAtMs = state.kind === "due" ? state.atMs : now;
    return startupBudget({ ...plan, failures, nextProbeAtMs, now });
  }

  function answerOf(kind: ProbeKind): ProbeAnswer | undefined {
    return workers.find(({ plan }) => plan.kind === kind)?.state.answer;
  }

  return {
    probeResult() {
      const [startup, liveness, readiness] = [
        answerOf("startup"),
        answerOf("liveness"),
        answerOf("readiness"),
      ];
      return combineProbeResults(pod, running, { startup, liveness, readiness });
    },
    startupBudget: readBudget,
    update(context) {
      pod = context.pod;
      ip = context.ip;
      for (const worker of workers) step(worker, { kind: "sync" });
    },
    stop() {
      for (const worker of workers) {
        step(worker, { kind: "stop" });
        if (worker.plan.kind !== "readiness") worker.abort.abort();
      }
    },
    exited() {
      if (startup) deps.checkpoints.startupEnded(podUid, running.id);
    },
    end() {
      for (const worker of workers) {
        worker.cancelTimer?.();
        worker.abort.abort();
      }
    },
  };
}

/** Returns whether to record the budget in an event: when half of it is used, and before the last failure. */
export function shouldRecordBudget({ failures, failureThreshold }: StartupBudget): boolean {
  // With a lower threshold, the Unhealthy events of each failure are sufficient.
  if (failureThreshold < 6) return false;
  return failures === Math.ceil(failureThreshold / 2) || failures === failureThreshold - 1;
}
