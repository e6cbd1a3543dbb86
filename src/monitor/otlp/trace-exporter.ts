import { versionInfo } from "../../api/meta/version.ts";
import { withDeadline } from "../../lib/abort.ts";
import { type BackoffPolicy, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { fetchFailure } from "../../lib/message-of.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { StartSignal } from "../measure/start-signal.ts";
import { type Span, traceOfStart } from "./start-trace.ts";

export interface TraceExporterOptions {
  /** URL of the collector: `http://localhost:4318/v1/traces`. */
  readonly endpoint: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Maximum number of queued traces; further ones are dropped. Default: 5,000. */
  readonly capacity?: number;
}

/** Sends each finished start as a trace to an OpenTelemetry collector. */
export interface TraceExporter {
  observe(signal: StartSignal): void;
  /** Sends traces until the signal aborts, then makes one last attempt to send the queued ones. */
  run(signal: AbortSignal): Promise<void>;
  counts(): { readonly sent: number; readonly dropped: number; readonly waiting: number };
}

const tracesPerRequest = 100;
const shutdownTimeoutMs = 5_000;
/** Delay before a request, so that several traces share it. */
const batchDelayMs = 1_000;
const retries: BackoffPolicy = { initialMs: 1_000, maxMs: 60_000, factor: 2, resetAfterMs: 300_000 };

export function createTraceExporter(options: TraceExporterOptions): TraceExporter {
  const { endpoint, headers = {}, clock, logger, capacity = 5_000 } = options;
  let waiting: (readonly Span[])[] = [];
  let sent = 0;
  let dropped = 0;
  let isUnavailable = false;
  const wakeUp = createWakeUp();

  function add(trace: readonly Span[]): void {
    if (waiting.length >= capacity) {
      dropped++;
      return;
    }
    waiting.push(trace);
    wakeUp.wake();
  }

  /** Sends one batch. Returns a delay if the batch has to be retried. */
  async function sendBatch(signal: AbortSignal): Promise<{ readonly retryAfterMs: number | undefined }> {
    const batch = waiting.slice(0, tracesPerRequest);
    const outcome = await postTraces({ endpoint, headers, spans: batch.flat(), signal });
    if (outcome.kind === "retry") {
      // Warns only on the first failure in a row.
      const log = isUnavailable ? logger.debug : logger.warn;
      log("sending traces to the collector failed; they stay queued and will be retried", {
        endpoint,
        reason: outcome.reason,
      });
      isUnavailable = true;
      return { retryAfterMs: outcome.afterMs ?? 0 };
    }
    if (isUnavailable) logger.info("the collector accepts traces again", { endpoint });
    isUnavailable = false;
    waiting = waiting.slice(batch.length);
    if (outcome.kind === "accepted") sent += batch.length;
    else {
      dropped += batch.length;
      logger.warn("the collector rejected traces; they are dropped", { endpoint, reason: outcome.reason });
    }
    return { retryAfterMs: undefined };
  }

  async function sendAll(signal: AbortSignal): Promise<void> {
    let failures: ReturnType<typeof backOff> | undefined;
    while (!signal.aborted) {
      const next = wakeUp.next();
      if (waiting.length === 0) {
        await next.orAt(Number.POSITIVE_INFINITY, { clock, signal });
        await clock.sleep(batchDelayMs, signal);
      }
      const { retryAfterMs } = await sendBatch(signal);
      failures = retryAfterMs === undefined ? undefined : backOff(retries, failures, clock.now());
      if (failures) await clock.sleep(Math.max(failures.delayMs, retryAfterMs ?? 0), signal);
    }
  }

  return {
    observe(signal) {
      const { kind, start } = signal;
      if (kind === "ready") add(traceOfStart(start, { endMs: signal.endedMs }));
      else if (kind === "abandoned") {
        const failure = `the pod was deleted in stage ${signal.stage} before it was ready`;
        add(traceOfStart(start, { endMs: clock.now(), failure }));
      }
    },
    async run(signal) {
      await sendAll(signal).catch((error) => {
        if (!signal.aborted) throw error;
      });
      await withDeadline({ clock, timeoutMs: shutdownTimeoutMs }, async (late) => {
        while (waiting.length > 0) {
          const { retryAfterMs } = await sendBatch(late);
          if (retryAfterMs !== undefined) break;
        }
      });
      dropped += waiting.length;
      waiting = [];
    },
    counts: () => ({ sent, dropped, waiting: waiting.length }),
  };
}

type PostOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "retry"; readonly afterMs: number | undefined; readonly reason: string }
  | { readonly kind: "rejected"; readonly reason: string };

const timeoutMs = 10_000;
/** Status codes after which OTLP requires the client to retry. */
const retryable = new Set([429, 502, 503, 504]);
const maxRetryAfterMs = 300_000;

interface PostOptions {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly spans: readonly Span[];
  readonly signal: AbortSignal;
}

/** Sends one OTLP/HTTP request. */
async function postTraces({ endpoint, headers, spans, signal }: PostOptions): Promise<PostOutcome> {
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(traceRequest(spans)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    // Reads the body, so that the connection can be reused.
    await response.arrayBuffer();
    if (response.ok) return { kind: "accepted" };
    const reason = `${response.status} ${response.statusText}`;
    if (!retryable.has(response.status)) return { kind: "rejected", reason };
    const afterMs = Number(response.headers.get("retry-after") ?? Number.NaN) * 1_000;
    return {
      kind: "retry",
      afterMs: afterMs > 0 ? Math.min(afterMs, maxRetryAfterMs) : undefined,
      reason,
    };
  } catch (error) {
    return { kind: "retry", afterMs: undefined, reason: fetchFailure(error) };
  }
}

function traceRequest(spans: readonly Span[]) {
  return {
    resourceSpans: [
      {
        resource: {
          attributes: [{ key: "service.name", value: { stringValue: "kindling-monitor" } }],
        },
        scopeSpans: [{ scope: { name: "kindling", version: versionInfo.gitVersion }, spans }],
      },
    ],
  };
}

/** Registers metrics of the exporter, which are read at each scrape. */
export function registerTraceMetrics(metrics: Metrics, exporter: TraceExporter): void {
  const total = {
    name: "kindling_traces_total",
    help: "Traces of pod starts, by whether they were sent or dropped",
  };
  metrics.total(total, () => {
    const { sent, dropped } = exporter.counts();
    return [
      [{ result: "sent" }, sent],
      [{ result: "dropped" }, dropped],
    ];
  });
  const waiting = { name: "kindling_traces_waiting", help: "Traces queued to be sent" };
  metrics.gauge(waiting, () => [[{}, exporter.counts().waiting]]);
}
