import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "./objects.ts";
import type { Event } from "./validation/event.ts";

/** An event as events.k8s.io has it: the same object under newer names. */
export type NewEvent = KubeObject & Wire<k8s.EventsV1Event>;

/** The name of each renamed field in the core group, and in events.k8s.io. */
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

/** How a field selector of events.k8s.io is spelled for core events: `regarding.name` is `involvedObject.name`. */
export function coreEventField(field: string): string {
  const [head = "", ...rest] = field.split(".");
  return [toCore.get(head) ?? head, ...rest].join(".");
}
