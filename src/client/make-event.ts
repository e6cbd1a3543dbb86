import { randomUUID } from "node:crypto";
import { formatTime } from "../api/format-time.ts";
import { dnsSubdomainProblems } from "../api/names.ts";
import type { Event, KubeObject } from "../api/objects.ts";

export interface EventToRecord {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** The part of the object that it is about: `spec.containers{web}`. */
  readonly fieldPath?: string;
}

interface EventSource {
  readonly component: string;
  readonly host?: string;
}

export interface Occurrence {
  readonly source: EventSource;
  /** Milliseconds. */
  readonly now: number;
  /** Different for each event, even within one millisecond. */
  readonly nanoseconds: bigint;
}

/** A core/v1 Event about an object. */
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

/** `web-0.17a3b5c7d9e1f203`; an object whose name is too long, or no name for an event, gets a random one instead. */
function eventName(object: string, nanoseconds: bigint): string {
  const name = `${object}.${nanoseconds.toString(16)}`;
  return dnsSubdomainProblems(name).length === 0 ? name : randomUUID();
}
