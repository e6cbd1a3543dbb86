import { status } from "@grpc/grpc-js";
import type { ReportGranularity } from "../../cri/report-meter.ts";
import type { Clock } from "../../lib/clock.ts";
import { failure } from "../failure.ts";
import { pauseUntil } from "../pause.ts";
import { bytesAt, endingOf, type LayerProgress, layersAt, nextReportAt, type PullPlan } from "./pull-plan.ts";

export interface PullReport {
  readonly offset: number;
  readonly layers: readonly LayerProgress[];
}

/** One caller's view of a pull that began then: its own reports, its own patience. Returns when all is here. */
export async function* followPull(
  plan: PullPlan,
  options: {
    clock: Clock;
    reference: string;
    beganAt: number;
    granularity: ReportGranularity;
    noProgressMs: number;
    signal: AbortSignal;
  },
): AsyncGenerator<PullReport, void> {
  const { clock, beganAt, signal, noProgressMs } = options;
  const ending = endingOf(plan, noProgressMs);
  const elapsed = () => clock.now() - beganAt;
  let last = { atMs: elapsed(), offset: bytesAt(plan, elapsed()) };
  for (;;) {
    const next = nextReportAt(plan, options.granularity, last);
    if (next === undefined || next >= ending.atMs) break;
    await pauseUntil(clock, beganAt + next, signal);
    const atMs = elapsed();
    last = { atMs, offset: bytesAt(plan, atMs) };
    // Before the registry has answered there is nothing to tell.
    if (atMs >= plan.startMs) yield { offset: last.offset, layers: layersAt(plan, atMs) };
  }
  await pauseUntil(clock, beganAt + ending.atMs, signal);
  if (ending.kind === "failed") throw ending.error;
  if (ending.kind === "done") return;
  throw failure(
    status.DEADLINE_EXCEEDED,
    `pulling ${options.reference}: no progress, the registry sent nothing for ${noProgressMs / 1_000} s; check that it is up and reachable`,
  );
}
