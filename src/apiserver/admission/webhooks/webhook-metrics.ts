import type { Metrics } from "../../../lib/metrics/metrics.ts";
import type { Operation } from "../admission-chain.ts";

/** Outcome of a call, as upstream's metrics distinguish them. */
export type CallOutcome =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly code: number }
  | { readonly kind: "failed"; readonly code: number; readonly ignored: boolean };

/** Counts calls of admission webhooks under upstream's names. */
export interface WebhookMetrics {
  observe(
    call: { readonly name: string; readonly type: "admit" | "validating"; readonly operation: Operation },
    facts: { readonly seconds: number; readonly outcome: CallOutcome },
  ): void;
}

const prefix = "apiserver_admission_webhook_";
const duration = {
  name: `${prefix}admission_duration_seconds`,
  help: "Duration of calls of admission webhooks by name, type (admit or validating) and operation",
  buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
};
const requests = {
  name: `${prefix}request_total`,
  help: "Calls of admission webhooks by name, type, operation and HTTP status code",
};
const rejections = {
  name: `${prefix}rejection_count`,
  help: "Requests that admission webhooks rejected, by the reason and the status code",
};
const failedOpen = {
  name: `${prefix}fail_open_count`,
  help: "Calls of admission webhooks that failed and were ignored",
};
/** As upstream, codes above it are counted as this one, which limits the number of series. */
const maxCode = 600;

export function createWebhookMetrics(metrics: Metrics): WebhookMetrics {
  return {
    observe({ name, type, operation: verb }, { seconds, outcome }) {
      const operation = verb.toUpperCase();
      const isRejected = outcome.kind === "denied" || (outcome.kind === "failed" && !outcome.ignored);
      const rejected = String(isRejected);
      const code = outcome.kind === "allowed" ? 200 : Math.min(outcome.code, maxCode);
      metrics.histogram(duration, { name, type, operation, rejected }).observe(seconds);
      metrics.counter(requests, { name, type, operation, code: String(code), rejected }).add();
      if (isRejected) {
        const errorType = outcome.kind === "denied" ? "no_error" : "calling_webhook_error";
        const labels = { name, type, operation, error_type: errorType, rejection_code: String(code) };
        metrics.counter(rejections, labels).add();
      }
      if (outcome.kind === "failed" && outcome.ignored) metrics.counter(failedOpen, { name, type }).add();
    },
  };
}
