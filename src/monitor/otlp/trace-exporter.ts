import { withDeadline } from "../../client/with-deadline.ts";
import { type BackoffPolicy, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { StartSignal } from "../measure/start-signal.ts";
import { postTraces } from "./post-traces.ts";
import { type Span, traceOfStart } from "./start-trace.ts";

export interface TraceExporterOptions {
  /** The collector's full address: `http://localhost:4318/v1/traces`. */
  readonly endpoint: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many starts wait at most; those that come when there is no room are dropped. */
  readonly capacity?: number;
}

/** Sends each start that is over as a trace to an OpenTelemetry collector. */
export interface TraceExporter {
  observe(signal: StartSignal): void;
  /** Until the signal aborts; what is still waiting then is tried once more. */
  run(signal: AbortSignal): Promise<void>;
  counts(): { readonly sent: number; readonly dropped: number; readonly waiting: number };
}

const tracesPerRequest = 100;
const lastTryMs = 5_000;
/** Traces come in twos and threes: waiting this long makes one request of them. */
const gatherMs = 1_000;
const retries: BackoffPolicy = { initialMs: 1_000, maxMs: 60_000, factor: 2, resetAfterMs: 300_000 };

export function createTraceExporter(options: TraceExporterOptions): TraceExporter {
  const { endpoint, headers = {}, clock, logger, capacity = 5_000 } = options;
  let waiting: (readonly Span[])[] = [];
  let sent = 0;
  let dropped = 0;
  let isAway = false;
  const wakeUp = createWakeUp();

  function add(trace: readonly Span[]): void {
    if (waiting.length >= capacity) {
      dropped++;
      return;
    }
    waiting.push(trace);
    wakeUp.wake();
  }

  /** How long to wait before the next one. */
  async function sendSome(signal: AbortSignal): Promise<{ readonly retryAfterMs: number | undefined }> {
    const batch = waiting.slice(0, tracesPerRequest);
    const outcome = await postTraces({ endpoint, headers, spans: batch.flat(), signal });
    if (outcome.kind === "later") {
      // Once, and not at each try.
      const log = isAway ? logger.debug : logger.warn;
      log("the collector does not take traces now; they wait", { endpoint, reason: outcome.reason });
      isAway = true;
      return { retryAfterMs: outcome.afterMs ?? 0 };
    }
    if (isAway) logger.info("the collector answers again", { endpoint });
    isAway = false;
    waiting = waiting.slice(batch.length);
    if (outcome.kind === "taken") sent += batch.length;
    else {
      dropped += batch.length;
      logger.warn("the collector refuses traces", { endpoint, reason: outcome.reason });
    }
    return { retryAfterMs: undefined };
  }

  async function sendAll(signal: AbortSignal): Promise<void> {
    let failures: ReturnType<typeof backOff> | undefined;
    while (!signal.aborted) {
      const next = wakeUp.next();
      if (waiting.length === 0) {
        await next.orAt(Number.POSITIVE_INFINITY, { clock, signal });
        await clock.sleep(gatherMs, signal);
      }
      const { retryAfterMs } = await sendSome(signal);
      failures = retryAfterMs === undefined ? undefined : backOff(retries, failures, clock.now());
      if (failures) await clock.sleep(Math.max(failures.delayMs, retryAfterMs ?? 0), signal);
    }
  }

  return {
    observe(signal) {
      const { kind, start } = signal;
      if (kind === "ready") add(traceOfStart(start, { endMs: start.createdMs + signal.seconds * 1_000 }));
      else if (kind === "abandoned") {
        const failure = `the pod went in the stage ${signal.stage}, before it was ready`;
        add(traceOfStart(start, { endMs: clock.now(), failure }));
      }
    },
    async run(signal) {
      await sendAll(signal).catch((error) => {
        if (!signal.aborted) throw error;
      });
      await withDeadline({ clock, timeoutMs: lastTryMs }, async (late) => {
        while (waiting.length > 0) {
          const { retryAfterMs } = await sendSome(late);
          if (retryAfterMs !== undefined) break;
        }
      });
      dropped += waiting.length;
      waiting = [];
    },
    counts: () => ({ sent, dropped, waiting: waiting.length }),
  };
}
