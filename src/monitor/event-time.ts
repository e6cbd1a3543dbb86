import type { Event } from "../api/objects.ts";

/** When an event happened last. Recorders of events.k8s.io leave the older fields empty. */
export function eventTime({ lastTimestamp, series, eventTime: first, metadata }: Event): string | undefined {
  return lastTimestamp ?? series?.lastObservedTime ?? first ?? metadata.creationTimestamp ?? undefined;
}

/** The same in milliseconds; 0 where it does not say. */
export function eventTimeMs(event: Event): number {
  return Date.parse(eventTime(event) ?? "") || 0;
}
