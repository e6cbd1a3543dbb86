import type { Event } from "../../../api/objects.ts";
import { eventTime } from "../../event-time.ts";
import type { EventView } from "../feed-message.ts";

/** Longer words than this help nobody on a page, and two hundred of them come with each snapshot. */
const longestMessage = 2_000;

export function viewEvent(event: Event): EventView {
  const { metadata, involvedObject, type, reason, message, count, series } = event;
  const { kind = "", namespace, name = "" } = involvedObject;
  return {
    uid: metadata.uid ?? "",
    time: eventTime(event) ?? "",
    type: type ?? "",
    reason: reason ?? "",
    object: `${kind} ${namespace ? `${namespace}/` : ""}${name}`,
    message: (message ?? "").slice(0, longestMessage),
    count: series?.count ?? count ?? 1,
  };
}
