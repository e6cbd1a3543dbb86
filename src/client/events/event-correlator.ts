import { randomUUID } from "node:crypto";
import { dnsSubdomainProblems } from "../../api/meta/names.ts";
import type { Event, KubeObject } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { createLruMap } from "../../lib/lru-map.ts";

// Limits, order and texts are those of client-go.
const cacheEntries = 4_096;
/** Number of different messages with one reason about one object from which they are combined into one event. */
const maxSimilar = 10;
const similarForMs = 600_000;
const burst = 25;
const tokenEveryMs = 300_000;

export type CorrelatedEvent =
  /** Rejected by the rate limit. */
  | { readonly kind: "spam" }
  | { readonly kind: "create"; readonly event: Event }
  /** Repeated event: increments the count. `event` is created if the original no longer exists. */
  | { readonly kind: "patch"; readonly event: Event; readonly patch: EventPatch };

type EventPatch = Pick<Event, "count" | "lastTimestamp" | "message">;

interface EventCorrelator {
  correlate(event: Event, now: number): CorrelatedEvent;
}

/** Limits the events of a component: counts repeated events, combines similar ones and drops excessive ones. */
export function createEventCorrelator(): EventCorrelator {
  const similar = createLruMap<{ messages: Set<string>; lastAt: number }>(cacheEntries);
  const written = createLruMap<{ name?: string; firstTimestamp?: string; count: number }>(cacheEntries);
  const tokens = createLruMap<{ left: number; at: number }>(cacheEntries);

  /** Returns the event, or the combined event of its group. */
  function combine(event: Event, now: number): { event: Event; key: string } {
    const key = reasonKey(event);
    const known = similar.get(key);
    const group =
      known && now - known.lastAt <= similarForMs ? known : { messages: new Set<string>(), lastAt: now };
    group.messages.add(event.message ?? "");
    group.lastAt = now;
    similar.set(key, group);
    if (group.messages.size < maxSimilar)
      return { event, key: joinKey([key, event.involvedObject.fieldPath, event.message]) };
    for (const oldest of group.messages) {
      group.messages.delete(oldest);
      break;
    }
    return { event: { ...event, message: `(combined from similar events): ${event.message}` }, key };
  }

  function count(event: Event, key: string): CorrelatedEvent {
    const before = written.get(key);
    const { name, firstTimestamp } = before ?? {
      name: event.metadata.name,
      firstTimestamp: event.firstTimestamp,
    };
    const next = (before?.count ?? 0) + 1;
    written.set(key, { name, firstTimestamp, count: next });
    if (!before) return { kind: "create", event };
    const { lastTimestamp, message } = event;
    return {
      kind: "patch",
      event: { ...event, metadata: { ...event.metadata, name }, firstTimestamp, count: next },
      patch: { count: next, lastTimestamp, message },
    };
  }

  /**
   * Token bucket per event key. Upstream has one per object, so that thirty startup probe failures suppress the Killing
   * event that follows. New events always pass; combining limits their number.
   */
  function mayPass(key: string, now: number): boolean {
    const bucket = tokens.get(key) ?? { left: burst, at: now };
    const left = Math.min(burst, bucket.left + Math.max(0, now - bucket.at) / tokenEveryMs);
    tokens.set(key, { left: left >= 1 ? left - 1 : left, at: now });
    return left >= 1;
  }

  return {
    correlate(event, now) {
      const combined = combine(event, now);
      const counted = count(combined.event, combined.key);
      return mayPass(combined.key, now) ? counted : { kind: "spam" };
    },
  };
}

function objectKey({ source, involvedObject: about }: Event): string {
  return joinKey([
    source?.component,
    source?.host,
    about.kind,
    about.namespace,
    about.name,
    about.uid,
    about.apiVersion,
  ]);
}

function reasonKey(event: Event): string {
  return joinKey([objectKey(event), event.type, event.reason]);
}

function joinKey(parts: readonly (string | undefined)[]): string {
  return JSON.stringify(parts);
}

export interface EventToRecord {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Field of the object that the event is about: `spec.containers{web}`. */
  readonly fieldPath?: string;
}

interface EventSource {
  readonly component: string;
  readonly host?: string;
}

interface Occurrence {
  readonly source: EventSource;
  /** Milliseconds. */
  readonly now: number;
  /** Unique for each event, even within one millisecond. */
  readonly nanoseconds: bigint;
}

/** Creates a core/v1 Event about an object. */
export function makeEvent(
  about: KubeObject,
  { type, reason, message, fieldPath }: EventToRecord,
  { source, now, nanoseconds }: Occurrence,
): Event {
  const { name = "", namespace, uid, resourceVersion } = about.metadata;
  const time = formatTime(now);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: eventName(name, nanoseconds), namespace: namespace ?? "default" },
    involvedObject: {
      kind: about.kind,
      namespace,
      name,
      uid,
      apiVersion: about.apiVersion,
      resourceVersion,
      fieldPath,
    },
    reason,
    message,
    source: { ...source },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type,
    reportingComponent: source.component,
    reportingInstance: source.host ?? "",
  };
}

/** `web-0.17a3b5c7d9e1f203`, or a random name when that would be invalid. */
function eventName(object: string, nanoseconds: bigint): string {
  const name = `${object}.${nanoseconds.toString(16)}`;
  return dnsSubdomainProblems(name).length === 0 ? name : randomUUID();
}
