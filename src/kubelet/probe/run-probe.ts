import type { Pod, Probe } from "../../api/objects.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { containerFieldPath } from "../container-field-path.ts";
import type { ProbePlan, ProbeResult } from "./decide-probe.ts";
import type { ProbedContainer } from "./decide-verdict.ts";
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

/** An error may be a runtime that is just restarting. */
const mostTries = 3;
const probeNames = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" } as const;

/** Runs a probe, says in events and metrics how it went, and returns what counts; nothing once aborted. */
export async function runProbe(deps: RunProbeDeps, run: ProbeRun): Promise<ProbeResult | undefined> {
  const { plan, series, signal } = run;
  const beganMs = deps.clock.now();
  let outcome = await tryOnce(deps.handlers, run);
  for (let tries = 1; outcome.kind === "error" && tries < mostTries && !signal.aborted; tries++) {
    outcome = await tryOnce(deps.handlers, run);
  }
  if (signal.aborted) return undefined;

  tell(deps, run, outcome);
  const result = resultOf(outcome);
  series.count(result, Math.max(0, deps.clock.now() - beganMs) / 1_000);
  if (deps.logger.debugging) {
    const { name, namespace } = run.pod.metadata;
    const container = run.subject.container.name;
    deps.logger.debug("probed", { pod: name, namespace, container, probe: plan.kind, result });
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

function tell({ recorder }: RunProbeDeps, { pod, subject, plan }: ProbeRun, outcome: ProbeOutcome): void {
  const said = describe(outcome);
  if (!said) return;
  const message = `${probeNames[plan.kind]} probe ${said.text}`;
  const fieldPath = containerFieldPath(pod, subject.container.name);
  recorder.record(pod, { type: "Warning", reason: said.reason, message, fieldPath });
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
