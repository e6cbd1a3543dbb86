import type { Pod, Probe } from "../../api/meta/objects.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { containerFieldPath } from "../model/cri-labels.ts";
import type { ProbedContainer, ProbePlan, ProbeResult } from "./decide-probe.ts";
import type { ProbeHandler, ProbeOutcome, ProbeTarget } from "./handler/probe-handler.ts";
import type { ProbeSeries } from "./probe-metrics.ts";

export interface RunProbeDeps {
  readonly handlers: ProbeHandler;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ProbeRun {
  readonly pod: Pod;
  readonly subject: ProbedContainer;
  readonly probe: Probe;
  readonly plan: ProbePlan;
  readonly target: ProbeTarget;
  readonly series: ProbeSeries;
  readonly signal: AbortSignal;
}

/** Attempts per run. An error may be caused by a restart of the runtime. */
const maxAttempts = 3;
const probeNames = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" } as const;

/** Runs a probe, records events and metrics, and returns the result. Undefined if aborted. */
export async function runProbe(deps: RunProbeDeps, run: ProbeRun): Promise<ProbeResult | undefined> {
  const { plan, series, signal } = run;
  const beganMs = deps.clock.now();
  let outcome = await tryOnce(deps.handlers, run);
  for (let tries = 1; outcome.kind === "error" && tries < maxAttempts && !signal.aborted; tries++) {
    outcome = await tryOnce(deps.handlers, run);
  }
  if (signal.aborted) return undefined;

  recordOutcome(deps, run, outcome);
  const result = resultOf(outcome);
  series.count(result, Math.max(0, deps.clock.now() - beganMs) / 1_000);
  if (deps.logger.debugging) {
    const { name, namespace } = run.pod.metadata;
    const container = run.subject.container.name;
    deps.logger.debug("probe finished", { pod: name, namespace, container, probe: plan.kind, result });
  }
  return result;
}

function resultOf({ kind }: ProbeOutcome): ProbeResult {
  return kind === "warning" ? "success" : kind;
}

async function tryOnce(handlers: ProbeHandler, run: ProbeRun): Promise<ProbeOutcome> {
  const { probe, target, plan, signal } = run;
  try {
    return await handlers(probe, target, { timeoutMs: plan.timeoutMs, signal });
  } catch (error) {
    const message = messageOf(error);
    return { kind: "error", state: "unknown", message };
  }
}

function recordOutcome(
  { recorder }: RunProbeDeps,
  { pod, subject, plan }: ProbeRun,
  outcome: ProbeOutcome,
): void {
  const described = describe(outcome);
  if (!described) return;
  const message = `${probeNames[plan.kind]} probe ${described.text}`;
  const fieldPath = containerFieldPath(pod, subject.container.name);
  recorder.record(pod, { type: "Warning", reason: described.reason, message, fieldPath });
}

function describe(outcome: ProbeOutcome): { reason: "Unhealthy" | "ProbeWarning"; text: string } | undefined {
  switch (outcome.kind) {
    case "success":
      return undefined;
    case "warning":
      return { reason: "ProbeWarning", text: `warning: ${outcome.output}` };
    case "failure":
      return { reason: "Unhealthy", text: `failed: ${outcome.output}` };
    case "error": {
      const { state, message } = outcome;
      return { reason: "Unhealthy", text: `errored and resulted in ${state} state: ${message}` };
    }
  }
}
