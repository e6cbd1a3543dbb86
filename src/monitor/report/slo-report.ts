import { isMapping } from "../../lib/is-mapping.ts";
import type { SloView } from "../feed/feed-message.ts";
import { fetchFailure } from "../fetch-failure.ts";

/** Where a monitor serves it. */
const path = "/api/report";
const longestBytes = 10_000_000;
const timeoutMs = 10_000;

export interface FetchOptions {
  /** The monitor's address, with what comes before `/api`. */
  readonly url: string;
  readonly token?: string;
  readonly signal: AbortSignal;
}

/** How a running monitor's objectives are met. */
export async function fetchSloReport({ url, token, signal }: FetchOptions): Promise<readonly SloView[]> {
  const address = new URL(url.replace(/\/*$/, path));
  const response = await fetch(address, {
    headers: { accept: "application/json", ...(token && { authorization: `Bearer ${token}` }) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).catch((error: unknown) => {
    throw new Error(
      `no monitor answers at ${address.origin}: ${fetchFailure(error)}; start one with kindling monitor, or say where with --monitor`,
      { cause: error },
    );
  });
  const text = await readText(response, address);
  if (response.status === 401) throw new Error(`${address.origin} wants to know who asks: give a token`);
  if (!response.ok) throw new Error(`${address} answers ${response.status}: ${text.trim().slice(0, 200)}`);
  const report = parse(text);
  if (!isReport(report))
    throw new Error(`${address} is no report of a monitor: is this a monitor's address?`);
  return report;
}

async function readText(response: Response, address: URL): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longestBytes) throw new Error(`${address} answers with more than a report can be`);
  }
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isReport(value: unknown): value is readonly SloView[] {
  return Array.isArray(value) && value.every(isSlo);
}

function isSlo(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const { name, kind, objective, target, budgetLeft, burnRate, good, total, breaches } = value;
  return (
    [name, objective].every(isText) &&
    (kind === "latency" || kind === "success") &&
    [target, budgetLeft, burnRate, good, total].every(isNumber) &&
    Array.isArray(breaches) &&
    breaches.every(
      (breach: unknown) =>
        isMapping(breach) && isText(breach.class) && isNumber(breach.bad) && isNumber(breach.total),
    )
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}
