import { ageOf } from "../../../../lib/human-duration.ts";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { qualifiedNameProblems } from "../../../meta/names.ts";
import type { Event, KubeObject } from "../../../meta/objects.ts";
import { type Column, column, wideColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

/** Event of either API group. events.k8s.io renamed the fields of the core group. */
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

const eventColumns: readonly Column<AnyEvent>[] = [
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
];

function firstSeen(event: AnyEvent, now: number): string {
  return ageOf(event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime, now);
}

function lastSeen(event: AnyEvent, now: number): string {
  if (event.series) return ageOf(event.series.lastObservedTime, now);
  const timestamp = event.lastTimestamp ?? event.deprecatedLastTimestamp;
  return timestamp ? ageOf(timestamp, now) : firstSeen(event, now);
}

function countOf({ series, count, deprecatedCount }: AnyEvent): number {
  // An event of events.k8s.io that occurred once has no count.
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

/** Validates an event of the core group. Both groups serve the same objects. */
function validateEvent(event: Event): FieldError[] {
  const at = new FieldErrors("");
  validateShared(event, at, { reporter: "reportingComponent" });
  return at.errors;
}

/** Validates an event of events.k8s.io, which does not allow the deprecated fields. */
function validateNewEvent(event: Event): FieldError[] {
  const at = new FieldErrors("");
  validateShared(event, at, { reporter: "reportingController" });
  validateSeries(event, at);
  if (!event.eventTime) at.required("eventTime");
  if (event.type !== "Normal" && event.type !== "Warning") {
    at.invalid("type", "", `has invalid value: ${event.type ?? ""}`);
  }
  const { source } = event;
  const old = {
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    count: event.count,
    source: source?.component || source?.host,
  };
  for (const [field, value] of Object.entries(old)) if (value) at.invalid(field, "", "needs to be unset");
  return at.errors;
}

const immutable = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingInstance",
] as const satisfies readonly (keyof Event)[];

/** Validates an update of an event. Only its series may change. */
function validateNewEventUpdate(next: Event, current: Event): FieldError[] {
  const at = new FieldErrors("");
  validateShared(next, at, { reporter: "reportingController" });
  if (!isEqual(next.series, current.series)) validateSeries(next, at);
  for (const field of immutable) {
    if (!isEqual(next[field], current[field])) at.invalid(field, next[field], "field is immutable");
  }
  if ((next.reportingComponent ?? "") !== (current.reportingComponent ?? "")) {
    at.invalid("reportingController", next.reportingComponent, "field is immutable");
  }
  return at.errors;
}

function validateSeries({ series }: Event, at: FieldErrors): void {
  if (!series) return;
  if ((series.count ?? 0) < 2) at.invalid("series.count", "", "should be at least 2");
  if (!series.lastObservedTime) at.required("series.lastObservedTime");
}

function validateShared(event: Event, at: FieldErrors, names: { readonly reporter: string }): void {
  const namespace = event.metadata.namespace ?? "";
  const about = event.involvedObject?.namespace ?? "";
  const allowed = about !== "" ? [about] : ["", "default", ...(event.eventTime ? ["kube-system"] : [])];
  if (!allowed.includes(namespace) && !(event.eventTime && about !== "")) {
    at.invalid("involvedObject.namespace", about, "does not match event.namespace");
  }
  if (!event.eventTime) return;
  const reporter = event.reportingComponent ?? "";
  if (!reporter) at.required(names.reporter);
  at.problems(names.reporter, reporter, qualifiedNameProblems(reporter));
  for (const field of ["reportingInstance", "action", "reason"] as const) {
    const value = event[field] ?? "";
    if (!value) at.required(field);
    if (value.length > 128) at.invalid(field, "", "can have at most 128 characters");
  }
  if ((event.message?.length ?? 0) > 1024) at.invalid("message", "", "can have at most 1024 characters");
}

type Fields = NonNullable<Strategy<Event>["selectableFields"]>;

const referenceFields = [
  "kind",
  "namespace",
  "name",
  "uid",
  "apiVersion",
  "resourceVersion",
  "fieldPath",
] as const;

/** Field selectors for the object of an event, under the name that an API group uses. */
function selectReference(name: "involvedObject" | "regarding"): Fields {
  return Object.fromEntries(
    referenceFields.map((field) => [
      `${name}.${field}`,
      ({ involvedObject }: Event) => involvedObject?.[field] ?? "",
    ]),
  );
}

const reporterOf = (event: Event) => event.reportingComponent ?? "";
const sharedFields: Fields = {
  reason: (event) => event.reason ?? "",
  type: (event) => event.type ?? "",
};

const strategy: Strategy<Event> = {
  nameRule: "pathSegment",
  allowCreateOnUpdate: true,

  applyDefaults(event) {
    event.source ??= {};
    event.reportingComponent ??= "";
    event.reportingInstance ??= "";
  },

  validate: validateEvent,
  validateUpdate: validateEvent,

  selectableFields: {
    ...sharedFields,
    ...selectReference("involvedObject"),
    reportingComponent: reporterOf,
    source: (event) => event.source?.component || reporterOf(event),
  },
};

/** Objects of events.k8s.io are converted to those of the core group before the strategy sees them. */
const newStrategy: Strategy<Event> = {
  ...strategy,
  nameRule: "dnsSubdomain",
  validate: validateNewEvent,
  validateUpdate: validateNewEventUpdate,
  selectableFields: {
    ...sharedFields,
    ...selectReference("regarding"),
    reportingController: reporterOf,
  },
};

/** Events of the core group. */
export const eventKind = defineKind<Event>({
  resource: { group: "", version: "v1", plural: "events", kind: "Event", shortNames: ["ev"] },
  strategy,
  columns: eventColumns,
});

/** Events of events.k8s.io: the objects of the core group with renamed fields. */
export const newEventKind = defineKind<Event>({
  resource: {
    group: "events.k8s.io",
    version: "v1",
    plural: "events",
    kind: "Event",
    shortNames: ["ev"],
    storedAs: "core/events",
  },
  strategy: newStrategy,
  columns: eventColumns,
});
