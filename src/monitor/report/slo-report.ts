import { isMapping } from "../../lib/is-mapping.ts";
import { fetchFailure } from "../../lib/message-of.ts";
import type { SloView } from "../feed/feed-message.ts";

/** Path of the report on a monitor's server. */
const path = "/api/report";
const maxBytes = 10_000_000;
const timeoutMs = 10_000;

export interface FetchOptions {
  /** Base URL of the monitor, without `/api`. */
  readonly url: string;
  readonly token?: string;
  readonly signal: AbortSignal;
}

/** Fetches the state of the objectives from a running monitor. */
export async function fetchSloReport({ url, token, signal }: FetchOptions): Promise<readonly SloView[]> {
  const address = new URL(url.replace(/\/*$/, path));
  const response = await fetch(address, {
    headers: { accept: "application/json", ...(token && { authorization: `Bearer ${token}` }) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).catch((error: unknown) => {
    throw new Error(
      `no monitor responds at ${address.origin}: ${fetchFailure(error)}; start one with kindling monitor, or set its address with --monitor`,
      { cause: error },
    );
  });
  const text = await readText(response, address);
  if (response.status === 401) throw new Error(`${address.origin} requires authentication; provide a token`);
  if (!response.ok)
    throw new Error(`${address} responded with ${response.status}: ${text.trim().slice(0, 200)}`);
  const report = parse(text);
  if (!isReport(report))
    throw new Error(
      `${address} did not return a monitor's report; check that this is the address of a monitor`,
    );
  return report;
}

async function readText(response: Response, address: URL): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxBytes)
      throw new Error(
        `the response of ${address} is larger than ${maxBytes} bytes; check that this is the address of a monitor`,
      );
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
