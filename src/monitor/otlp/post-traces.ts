import { versionInfo } from "../../api/version.ts";
import { fetchFailure } from "../fetch-failure.ts";
import type { Span } from "./start-trace.ts";

export type PostOutcome =
  | { readonly kind: "taken" }
  | { readonly kind: "later"; readonly afterMs: number | undefined; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

const timeoutMs = 10_000;
/** The answers after which OTLP wants the same request to come again. */
const retryable = new Set([429, 502, 503, 504]);
const longestRetryAfterMs = 300_000;

export interface PostOptions {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly spans: readonly Span[];
  readonly signal: AbortSignal;
}

/** One OTLP/HTTP request. */
export async function postTraces({ endpoint, headers, spans, signal }: PostOptions): Promise<PostOutcome> {
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(traceRequest(spans)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    // The connection is free for the next request only when this answer is read.
    await response.arrayBuffer();
    if (response.ok) return { kind: "taken" };
    const reason = `${response.status} ${response.statusText}`;
    if (!retryable.has(response.status)) return { kind: "refused", reason };
    const afterMs = Number(response.headers.get("retry-after") ?? Number.NaN) * 1_000;
    return {
      kind: "later",
      afterMs: afterMs > 0 ? Math.min(afterMs, longestRetryAfterMs) : undefined,
      reason,
    };
  } catch (error) {
    return { kind: "later", afterMs: undefined, reason: fetchFailure(error) };
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
