import type { Event } from "../../api/objects.ts";
import type { EventView } from "./feed-message.ts";
import { viewEvent } from "./view/view-event.ts";

/** The newest events, whichever order they come in. */
export interface RecentEvents {
  add(event: Event): void;
  /** The newest first. */
  list(): readonly EventView[];
  /** Those of `list` that came or changed since the last call. */
  takeChanged(): readonly EventView[];
}

export function createRecentEvents(capacity: number): RecentEvents {
  const events = new Map<string, EventView>();
  let changed = new Set<string>();

  /** Now and then only: sorting for each event would cost a cluster's first list dearly. */
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
