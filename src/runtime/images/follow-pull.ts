// Clauses: 3542-2, 3542-4
import { setImmediate } from "node:timers/promises";
import { meterBySize, startSizeMeter, withDefaults } from "../../cri/progress-message.ts";
import { createAsyncQueue } from "../../lib/async-queue.ts";
import type { Clock } from "../../lib/clock.ts";
import { noProgressMessage } from "../../lib/image/pull-progress.ts";
import { ImageError } from "../errors/image-error.ts";
import { decideStall } from "../registry/transfer.ts";
import type { ImageRecord } from "./image-records.ts";
import type { PullReport, PullRequest } from "./images.ts";
import type { PullState } from "./pull-image.ts";
import type { Joined } from "./singleflight.ts";

/** Maximum number of queued reports. A slow reader misses some, because newer reports contain more. */
const maxQueuedReports = 64;
/** Interval at which a pull that expects no data is checked. */
const idleCheckMs = 200;

/** Follows a pull for one caller, with its own reports and its own timeout. */
export async function* followPull(options: {
  clock: Clock;
  request: PullRequest;
  /** Joins the pull with the caller's signal, which also aborts when the caller's timeout expires. */
  join: (signal: AbortSignal) => Joined<PullState, ImageRecord>;
}): AsyncGenerator<PullReport> {
  const { clock, request } = options;
  const leave = new AbortController();
  const signal = AbortSignal.any([request.signal, leave.signal]);
  const queue = createAsyncQueue<PullReport>({ capacity: maxQueuedReports + 1 });
  const { state, result, joined } = options.join(signal);
  const granularity = withDefaults(request.granularity);
  const sinceMs = clock.now();
  let reportedAt = sinceMs;
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

  /** Reports after a delay, also if no further byte arrives. */
  async function reportAfter(waitMs: number): Promise<void> {
    await clock.sleep(waitMs, signal);
    postponed = false;
    reportIfDue();
  }

  function report(): void {
    const { offset, total } = state;
    reportedAt = clock.now();
    // One slot is kept for the last report.
    if (queue.size() < maxQueuedReports)
      queue.push({ kind: "progress", offset, total, layers: state.layers });
  }

  async function tick(intervalMs: number): Promise<void> {
    for (;;) {
      await clock.sleep(Math.max(0, reportedAt + intervalMs - clock.now()), signal);
      // Nothing to report before the manifest has arrived.
      if (state.layers.length > 0) report();
      else reportedAt = clock.now();
    }
  }

  async function watchForStall(timeoutMs: number): Promise<never> {
    const decide = () => {
      const transfers = joined
        ? state.transfers.map((transfer) => ({ ...transfer, joined }))
        : state.transfers;
      return decideStall(transfers, { timeoutMs, sinceMs, now: clock.now() });
    };
    for (;;) {
      let decision = decide();
      if (decision.kind === "restart" || decision.kind === "fail") {
        // The event loop may have been blocked: read data that has arrived before the timers decide.
        await setImmediate();
        decision = decide();
      }
      switch (decision.kind) {
        case "idle":
          await clock.sleep(Math.min(idleCheckMs, timeoutMs / 2), signal);
          break;
        case "wait":
          await clock.sleep(decision.untilMs - clock.now(), signal);
          break;
        case "restart":
          for (const transfer of decision.transfers) transfer.restart();
          break;
        case "fail":
          throw new ImageError(
            "noProgress",
            noProgressMessage(request.reference, { timeoutMs, layers: state.layers }),
          );
      }
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
    leave.abort(new ImageError("cancelled", `pulling ${request.reference}: no callers are left`));
  }
}

function cancelled(request: PullRequest): ImageError {
  return new ImageError("cancelled", `pulling ${request.reference}: cancelled`, {
    cause: request.signal.reason,
  });
}
