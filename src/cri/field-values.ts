import { randomBytes } from "node:crypto";

/** Converts milliseconds to CRI timestamps in nanoseconds. */
export function toNanos(ms: number): bigint {
  return BigInt(Math.round(ms * 1_000)) * 1_000n;
}

/** Creates an id for a sandbox or container: 64 hex digits, as in other runtimes. */
export function newObjectId(): string {
  return randomBytes(32).toString("hex");
}

/** Reports whether the labels include all labels of the selector. */
export function matchesLabels(
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
