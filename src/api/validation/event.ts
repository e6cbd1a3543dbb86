import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import { qualifiedNameProblems } from "../names.ts";
import type { KubeObject, Wire } from "../objects.ts";
import { Report } from "./report.ts";

/** An event as the core group has it; both groups serve the same objects. */
export type Event = KubeObject & Wire<k8s.CoreV1Event>;

export function validateEvent(event: Event): FieldError[] {
  const at = new Report("");
  validateShared(event, at, { reporter: "reportingComponent" });
  return at.errors;
}

/** The newer group is stricter: no fields of the old days. */
export function validateNewEvent(event: Event): FieldError[] {
  const at = new Report("");
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

/** What happened has happened; only that it goes on can be added. */
export function validateNewEventUpdate(next: Event, current: Event): FieldError[] {
  const at = new Report("");
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

function validateSeries({ series }: Event, at: Report): void {
  if (!series) return;
  if ((series.count ?? 0) < 2) at.invalid("series.count", "", "should be at least 2");
  if (!series.lastObservedTime) at.required("series.lastObservedTime");
}

function validateShared(event: Event, at: Report, names: { readonly reporter: string }): void {
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
