import type * as k8s from "@kubernetes/client-node";
import type { Event, KubeObject, Wire } from "../../../meta/objects.ts";

/** Event of events.k8s.io: the object of the core group with renamed fields. */
export type NewEvent = KubeObject & Wire<k8s.EventsV1Event>;

/** Renamed fields: name in the core group, name in events.k8s.io. */
const renamed = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
] as const satisfies readonly (readonly [keyof Event, keyof NewEvent])[];

const toNew = new Map<string, string>(renamed);
const toCore = new Map<string, string>(renamed.map(([core, newer]) => [newer, core]));

export function convertEventToNew(event: Event): NewEvent {
  return { ...rename(event, toNew), apiVersion: "events.k8s.io/v1" } as NewEvent;
}

export function convertEventToCore(event: NewEvent): Event {
  return { ...rename(event, toCore), apiVersion: "v1" } as Event;
}

function rename(object: object, names: ReadonlyMap<string, string>): object {
  return Object.fromEntries(
    Object.entries(object).map(([field, value]) => [names.get(field) ?? field, value]),
  );
}

/** Converts a field selector of events.k8s.io to the core group: `regarding.name` to `involvedObject.name`. */
export function coreEventField(field: string): string {
  const [head = "", ...rest] = field.split(".");
  return [toCore.get(head) ?? head, ...rest].join(".");
}
