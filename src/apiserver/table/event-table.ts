import type { Event, KubeObject } from "../../api/objects.ts";
import { ageOf } from "../../lib/human-duration.ts";
import { column, type TableLayout, wideColumn } from "./table-layout.ts";

/** An event of either API group: events.k8s.io has other names for what core already had. */
type AnyEvent = KubeObject &
  Partial<Event> & {
    regarding?: Event["involvedObject"];
    note?: string;
    reportingController?: string;
    deprecatedSource?: Event["source"];
    deprecatedFirstTimestamp?: string;
    deprecatedLastTimestamp?: string;
    deprecatedCount?: number;
  };

export const eventTable: TableLayout<AnyEvent> = {
  columns: [
    column("Last Seen", "Time since it last happened", lastSeen),
    column("Type", "Normal or Warning", ({ type }) => type ?? ""),
    column("Reason", "Why, in one word", ({ reason }) => reason ?? ""),
    column("Object", "What it is about", formatObject),
    wideColumn("Subobject", "Which part of that it is about", (event) => objectOf(event)?.fieldPath ?? ""),
    wideColumn("Source", "Who reported it", formatSource),
    column("Message", "What happened", ({ message, note }) => (message ?? note ?? "").trim()),
    wideColumn("First Seen", "Time since it first happened", firstSeen),
    wideColumn("Count", "How often it happened", countOf),
    column("Name", "Name of the event", ({ metadata }) => metadata.name ?? "", {
      format: "name",
      priority: 1,
    }),
  ],
};

function firstSeen(event: AnyEvent, now: number): string {
  return ageOf(event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime, now);
}

function lastSeen(event: AnyEvent, now: number): string {
  if (event.series) return ageOf(event.series.lastObservedTime, now);
  const timestamp = event.lastTimestamp ?? event.deprecatedLastTimestamp;
  return timestamp ? ageOf(timestamp, now) : firstSeen(event, now);
}

function countOf({ series, count, deprecatedCount }: AnyEvent): number {
  // An event of the newer API that happened once has no count.
  return series ? (series.count ?? 0) : count || deprecatedCount || 1;
}

function objectOf({ involvedObject, regarding }: AnyEvent): Event["involvedObject"] | undefined {
  return involvedObject ?? regarding;
}

function formatObject(event: AnyEvent): string {
  const { kind = "", name } = objectOf(event) ?? {};
  return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase();
}

function formatSource(event: AnyEvent): string {
  const source = event.source ?? event.deprecatedSource;
  const component = source?.component || event.reportingComponent || event.reportingController || "";
  const instance = source?.host || event.reportingInstance;
  return instance ? `${component}, ${instance}` : component;
}
