import type { Event } from "../../api/objects.ts";
import { eventTimeMs } from "../event-time.ts";
import { parsePullMessage } from "./pull-message.ts";
import type { Step, TrackedStart } from "./tracked-start.ts";
import { userErrorIn } from "./user-error.ts";

/** What is remembered of pulls is bounded: a pod that is pulled for again and again tells its first ones. */
const mostPulls = 50;

/** What an event about a pod tells. The same event may come any number of times. */
export function followEvent(
  state: TrackedStart,
  event: Event,
  { sinceMs }: { readonly sinceMs: number },
): Step {
  const error = userErrorIn(event);
  if (error && state.outcome === "starting" && state.userError === undefined) {
    return {
      next: { ...state, userError: error.message },
      told: [{ kind: "user-error", reason: error.reason }],
    };
  }
  const pull = event.reason === "Pulled" ? parsePullMessage(event.message ?? "") : undefined;
  const endedMs = eventTimeMs(event);
  if (!pull || state.pulls.length >= mostPulls || endedMs < sinceMs) return { next: state, told: [] };
  // Events that repeat are counted in one object.
  const id = `${event.metadata.uid ?? event.metadata.name}:${event.series?.count ?? event.count ?? 1}`;
  if (state.pulls.some((each) => each.event === id)) return { next: state, told: [] };
  return {
    next: { ...state, pulls: [...state.pulls, { event: id, ...pull, endedMs }] },
    told: [{ kind: "pull", ...pull }],
  };
}
