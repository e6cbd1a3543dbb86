import type { Clock } from "../../lib/clock.ts";
import type { SloTrackerOptions } from "./slo-tracker.ts";

/** Availability of an API server without outages that confirms every pod. */
export function alwaysAvailable({ now }: Clock): Pick<SloTrackerOptions, "availability" | "confirm"> {
  return {
    availability: { unavailableMs: () => 0, knownUntilMs: now },
    confirm: async (uids) => new Map(uids.map((uid) => [uid, now()])),
  };
}
