import type { Pod, Probe } from "../../api/objects.ts";
import { type StartupBudget, startupBudget } from "../../api/startup-budget.ts";
import type { StartupNotes } from "../container/startup-notes.ts";
import { containerFieldPath } from "../container-field-path.ts";
import type { Alarm, Alarms } from "./alarms.ts";
import {
  beginProbe,
  decideProbe,
  type ProbeAnswer,
  type ProbeInput,
  type ProbeKind,
  type ProbePlan,
  type ProbeState,
  planProbe,
} from "./decide-probe.ts";
import { decideVerdict, type ProbedContainer } from "./decide-verdict.ts";
import { isBudgetNews } from "./is-budget-news.ts";
import type { ProbeMetrics, ProbeSeries } from "./probe-metrics.ts";
import type { ProbeVerdict } from "./prober.ts";
import { type RunProbeDeps, runProbe } from "./run-probe.ts";
import type { StartTimes } from "./start-times.ts";

export interface ProbeContainerDeps extends RunProbeDeps {
  readonly alarms: Alarms;
  readonly metrics: ProbeMetrics;
  readonly notes: Pick<StartupNotes, "startupFailures" | "startupFailed" | "startupEnded">;
  readonly startTimes: StartTimes;
  readonly kubeletStartedAtMs: number;
  readonly random: () => number;
  readonly onChange: (podUid: string) => void;
}

/** A container that runs, as the prober comes to know it. */
export interface RunningContainer extends ProbedContainer {
  readonly id: string;
  readonly startedAtMs: number;
  /** What the API says of this very container: news only to a kubelet that was restarted. */
  readonly known: { readonly started: boolean; readonly ready: boolean };
}

/** What changes in the surroundings of a container while it runs. */
export interface Surroundings {
  readonly pod: Pod;
  readonly ip: string | undefined;
}

export interface ContainerProbes {
  verdict(): ProbeVerdict;
  /** None where there is no startup probe or the startup is over. */
  startupBudget(): StartupBudget | undefined;
  look(surroundings: Surroundings): void;
  stop(): void;
  /** The container runs no more; `end` follows. */
  exited(): void;
  end(): void;
}

interface Worker {
  readonly plan: ProbePlan;
  readonly probe: Probe;
  readonly series: ProbeSeries;
  readonly abort: AbortController;
  readonly ring: () => void;
  state: ProbeState;
  alarm: Alarm | undefined;
}

/** Runs the probes of one container, from when it is seen running until `end`. */
export function probeContainer(
  deps: ProbeContainerDeps,
  running: RunningContainer,
  begin: Surroundings & { readonly startupProbes: boolean; readonly stopping: boolean },
): ContainerProbes {
  const { clock, alarms } = deps;
  const { container } = running;
  const podUid = begin.pod.metadata.uid ?? "";
  let { pod, ip } = begin;
  // What a kubelet before this one has started may have been ready long ago.
  let startNoted = running.startedAtMs < deps.kubeletStartedAtMs;
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
    const ring = () => void step(worker, { kind: "tick" });
    const worker: Worker = {
      plan,
      probe,
      series,
      abort: new AbortController(),
      ring,
      state,
      alarm: undefined,
    };
    return worker;
  }

  /** Counted by a kubelet before this one. */
  function failuresBefore(): number {
    if (running.startedAtMs >= deps.kubeletStartedAtMs) return 0;
    return deps.notes.startupFailures(podUid, running.id);
  }

  function step(worker: Worker, input: ProbeInput): ReturnType<typeof decideProbe>["change"] {
    const { state, change } = decideProbe(worker.plan, worker.state, { input, now: clock.now() });
    if (state !== worker.state) {
      worker.state = state;
      worker.alarm?.cancel();
      follow(worker);
    }
    return change;
  }

  /** Does what the state asks for: to wait, or to probe. */
  function follow(worker: Worker): void {
    const { state } = worker;
    if (state.kind === "due") worker.alarm = alarms.set(state.atMs, worker.ring);
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
      deps.notes.startupFailed(podUid, running.id);
      tellBudget();
    }
    if (change === "started" || (change === "ready" && !startup)) noteStart();
    if (change === "started") {
      deps.notes.startupEnded(podUid, running.id);
      for (const other of workers) step(other, { kind: "started" });
    }
    if (change) deps.onChange(podUid);
  }

  function noteStart(): void {
    if (startNoted) return;
    startNoted = true;
    deps.startTimes.note(pod.metadata.namespace ?? "", container, clock.now() - running.startedAtMs);
  }

  function tellBudget(): void {
    const budget = readBudget();
    if (!budget || !isBudgetNews(budget)) return;
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
    verdict() {
      const [startup, liveness, readiness] = [
        answerOf("startup"),
        answerOf("liveness"),
        answerOf("readiness"),
      ];
      return decideVerdict(pod, running, { startup, liveness, readiness });
    },
    startupBudget: readBudget,
    look(surroundings) {
      pod = surroundings.pod;
      ip = surroundings.ip;
      for (const worker of workers) step(worker, { kind: "look" });
    },
    stop() {
      for (const worker of workers) {
        step(worker, { kind: "stop" });
        if (worker.plan.kind !== "readiness") worker.abort.abort();
      }
    },
    exited() {
      if (startup) deps.notes.startupEnded(podUid, running.id);
    },
    end() {
      for (const worker of workers) {
        worker.alarm?.cancel();
        worker.abort.abort();
      }
    },
  };
}
