import {
  type Event,
  validateEvent,
  validateNewEvent,
  validateNewEventUpdate,
} from "../../api/validation/event.ts";
import type { Strategy } from "./strategy.ts";

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

/** The object that an event is about, under the name that a group has for it. */
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

/** Events of the core group. */
export const eventStrategy: Strategy<Event> = {
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

/** Events of events.k8s.io, which come here converted to those of the core group. */
export const newEventStrategy: Strategy<Event> = {
  ...eventStrategy,
  nameRule: "dnsSubdomain",
  validate: validateNewEvent,
  validateUpdate: validateNewEventUpdate,
  selectableFields: {
    ...sharedFields,
    ...selectReference("regarding"),
    reportingController: reporterOf,
  },
};
