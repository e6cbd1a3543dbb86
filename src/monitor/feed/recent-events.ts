import type { Event } from "../../api/meta/objects.ts";
import { eventTime } from "../../api/meta/time.ts";
import type { EventView } from "./feed-message.ts";

/** Keeps the newest events, in whatever order they arrive. */
export interface RecentEvents {
  add(event: Event): void;
  /** Events, newest first. */
  list(): readonly EventView[];
  /** Events of `list` that were added or changed since the last call. */
  takeChanged(): readonly EventView[];
}

export function createRecentEvents(capacity: number): RecentEvents {
  const events = new Map<string, EventView>();
  let changed = new Set<string>();

  /** Sorts and trims. Not called for each event, because the first list can be large. */
  function trim(): void {
    const newest = [...events.values()].toSorted(byTime).slice(0, capacity);
    events.clear();
    for (const view of newest) events.set(view.uid, view);
  }

  return {
    add(event) {
      const view = viewEvent(event);
      events.set(view.uid, view);
      changed.add(view.uid);
      if (events.size <= 2 * capacity) return;
      trim();
      changed = new Set([...changed].filter((uid) => events.has(uid)));
    },
    list() {
      trim();
      return [...events.values()];
    },
    takeChanged() {
      if (changed.size === 0) return [];
      trim();
      const taken = [...changed].flatMap((uid) => events.get(uid) ?? []);
      changed.clear();
      return taken.toSorted(byTime);
    },
  };
}

function byTime(a: EventView, b: EventView): number {
  return (Date.parse(b.time) || 0) - (Date.parse(a.time) || 0);
}

/** Messages are cut to this length; each snapshot contains up to 200 of them. */
const maxMessageLength = 2_000;

export function viewEvent(event: Event): EventView {
  const { metadata, involvedObject, type, reason, message, count, series } = event;
  const { kind = "", namespace, name = "" } = involvedObject;
  return {
    uid: metadata.uid ?? "",
    time: eventTime(event) ?? "",
    type: type ?? "",
    reason: reason ?? "",
    object: `${kind} ${namespace ? `${namespace}/` : ""}${name}`,
    message: (message ?? "").slice(0, maxMessageLength),
    count: series?.count ?? count ?? 1,
  };
}
