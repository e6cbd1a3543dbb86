import type { Event } from "./objects.ts";

/** Latest time with a four-digit year. Larger values come from very long grace periods. */
const lastSecond = Date.UTC(9999, 11, 31, 23, 59, 59) / 1_000;

let latest = { second: Number.NaN, text: "" };

/**
 * Formats a time as the API stores it: UTC, whole seconds. The latest result is cached, because most calls are within
 * one second.
 */
export function formatTime(ms: number): string {
  const second = Math.min(Math.floor(ms / 1_000), lastSecond);
  if (second !== latest.second) {
    latest = { second, text: `${new Date(second * 1_000).toISOString().slice(0, 19)}Z` };
  }
  return latest.text;
}

/** Formats a time of a Lease: UTC, microseconds. */
export function formatMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/** Time of the last occurrence of an event. Recorders of events.k8s.io do not set the fields of the core group. */
export function eventTime({ lastTimestamp, series, eventTime: first, metadata }: Event): string | undefined {
  return lastTimestamp ?? series?.lastObservedTime ?? first ?? metadata.creationTimestamp ?? undefined;
}

/** Time of the last occurrence in milliseconds since the epoch; 0 if it is unknown. */
export function eventTimeMs(event: Event): number {
  return Date.parse(eventTime(event) ?? "") || 0;
}
