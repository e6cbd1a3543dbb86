import { randomUUID } from "node:crypto";
import { dnsSubdomainProblems } from "../../api/meta/names.ts";
import type { Event, KubeObject } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";

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

export interface Occurrence {
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
