import { setImmediate } from "node:timers/promises";
import { meterBySize, startSizeMeter, withDefaults } from "../../cri/report-meter.ts";
import { createAsyncQueue } from "../../lib/async-queue.ts";
import type { Clock } from "../../lib/clock.ts";
import { stallDeadline } from "./activity.ts";
import { ImageError } from "./image-error.ts";
import type { ImageRecord } from "./image-records.ts";
import type { PullReport, PullRequest } from "./images.ts";
import type { PullState } from "./pull-image.ts";

/** A reader that falls this many reports behind misses some: newer ones say more. */
const maxQueuedReports = 64;
/** How often a pull that waits for nothing is looked at again. */
const idleLookMs = 200;

/** One caller's view of a pull: its own reports, its own patience. */
export async function* followPull(options: {
  clock: Clock;
  request: PullRequest;
  /** Joins the pull with the caller's signal, which also aborts when the caller's patience ends. */
  join: (signal: AbortSignal) => { state: PullState; result: Promise<ImageRecord> };
}): AsyncGenerator<PullReport> {
  const { clock, request } = options;
  const leave = new AbortController();
  const signal = AbortSignal.any([request.signal, leave.signal]);
  const queue = createAsyncQueue<PullReport>({ capacity: maxQueuedReports + 1 });
  const { state, result } = options.join(signal);
  const granularity = withDefaults(request.granularity);
  let reportedAt = clock.now();
  let meter = startSizeMeter(reportedAt);
  let postponed = false;

  const stop = state.onChange(reportIfDue);
  function reportIfDue(): void {
    if (granularity.kind !== "size" || postponed) return;
    const { intervalBytes } = granularity;
    const decision = meterBySize(meter, { intervalBytes, offset: state.offset, now: clock.now() });
    if (decision.kind === "postpone") {
      postponed = true;
      reportAfter(decision.waitMs).catch(() => {});
      return;
    }
    meter = decision.meter;
    if (decision.kind === "report") report();
  }

  /** Also when no byte comes any more: what has come is told. */
  async function reportAfter(waitMs: number): Promise<void> {
    await clock.sleep(waitMs, signal);
    postponed = false;
    reportIfDue();
  }

  function report(): void {
    const { offset, total } = state;
    reportedAt = clock.now();
    // One place is kept for the last report.
    if (queue.size() < maxQueuedReports)
      queue.push({ kind: "progress", offset, total, layers: state.layers });
  }

  async function tick(intervalMs: number): Promise<void> {
    for (;;) {
      await clock.sleep(Math.max(0, reportedAt + intervalMs - clock.now()), signal);
      // Before the manifest is here there is nothing to tell.
      if (state.layers.length > 0) report();
      else reportedAt = clock.now();
    }
  }

  async function watchForStall(timeoutMs: number): Promise<never> {
    for (;;) {
      let deadline = stallDeadline(state.activities, timeoutMs);
      const now = clock.now();
      if (deadline !== undefined && deadline <= now) {
        // A process that was held up sees its timers before what has come meanwhile: that is read first.
        await setImmediate();
        deadline = stallDeadline(state.activities, timeoutMs);
      }
      if (deadline !== undefined && deadline <= now) {
        const seconds = timeoutMs / 1_000;
        throw new ImageError(
          "noProgress",
          `pulling ${request.reference}: no progress, the registry sent nothing for ${seconds} s; check that it is up and reachable`,
        );
      }
      await clock.sleep(deadline === undefined ? Math.min(idleLookMs, timeoutMs) : deadline - now, signal);
    }
  }

  if (granularity.kind === "time") tick(granularity.intervalMs).catch(() => {});
  const timeoutMs = request.noProgressTimeoutMs ?? 0;
  if (timeoutMs > 0) watchForStall(timeoutMs).catch((error) => signal.aborted || queue.fail(error));
  result.then(
    (record) => {
      const { total, layers } = state;
      queue.push({ kind: "done", image: record, offset: total, total, layers });
      queue.end();
    },
    (error) => queue.fail(request.signal.aborted ? cancelled(request) : error),
  );
  try {
    yield* queue;
  } finally {
    stop();
    leave.abort(new ImageError("cancelled", `pulling ${request.reference}: nobody waits for it any more`));
  }
}

function cancelled(request: PullRequest): ImageError {
  return new ImageError("cancelled", `pulling ${request.reference}: cancelled`, {
    cause: request.signal.reason,
  });
}
