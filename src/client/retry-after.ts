import type { TransportResponse } from "./transport.ts";

/** Longer than servers ask for; a wrong number must not stop a component for an hour. */
const maxWaitMs = 60_000;

/**
 * How long a server wants the same request held back; undefined when it does not say so. It has then done nothing with
 * the request, whatever the verb.
 */
export function retryAfterMs({
  status,
  headers,
}: Pick<TransportResponse, "status" | "headers">): number | undefined {
  const value = headers["retry-after"];
  if (status !== 429 || value === undefined || !/^\d+$/.test(value)) return undefined;
  return Math.min(Number(value) * 1_000, maxWaitMs);
}
