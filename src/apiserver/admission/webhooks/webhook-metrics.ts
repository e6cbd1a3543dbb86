import type { Metrics } from "../../../lib/metrics/metrics.ts";
import type { Operation } from "../admission-chain.ts";

/** Outcome of a call, as upstream's metrics distinguish them. */
export type CallOutcome =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly code: number }
  | { readonly kind: "failed"; readonly code: number; readonly ignored: boolean };

/** Counts calls of admission webhooks under upstream's names. */
export interface WebhookMetrics {
  observe(call: Call, facts: { readonly seconds: number; readonly outcome: CallOutcome }): void;
  /** Observes an evaluation of match conditions. `seconds` is undefined if all are met: as upstream, only others are timed. */
  observeMatch(
    call: Call,
    facts: { readonly seconds: number | undefined; readonly errors: number; readonly isExcluded: boolean },
  ): void;
}

interface Call {
  readonly name: string;
  readonly type: "admit" | "validating";
  readonly operation: Operation;
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
const matchPrefix = "apiserver_admission_match_condition_";
const matchErrors = {
  name: `${matchPrefix}evaluation_errors_total`,
  help: "Match conditions of admission webhooks that failed, by name, type and operation",
};
const matchExclusions = {
  name: `${matchPrefix}exclusions_total`,
  help: "Admission webhooks that were not called because of their match conditions",
};
const matchDuration = {
  name: `${matchPrefix}evaluation_seconds`,
  help: "Duration of evaluations of match conditions that were not all met",
  buckets: [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
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

    observeMatch({ name, type, operation }, { seconds, errors, isExcluded }) {
      const labels = { name, kind: "webhook", type, operation: operation.toUpperCase() };
      if (errors > 0) metrics.counter(matchErrors, labels).add(errors);
      // As upstream, exclusions have another name for the type.
      const exclusion = { ...labels, type: type === "validating" ? "validate" : type };
      if (isExcluded) metrics.counter(matchExclusions, exclusion).add();
      if (seconds !== undefined) metrics.histogram(matchDuration, labels).observe(seconds);
    },
  };
}
