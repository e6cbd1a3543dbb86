import type { StatefulSetView } from "../../../src/monitor/feed/feed-message.ts";

const named = 5;

/** The strip in words: how many are ready and updated, then which ones are not ready, and how they are. */
export function describeOrdinals({ ordinals, replicas, updateRevision }: StatefulSetView): {
  readonly summary: string;
  readonly others: string;
} {
  const ready = ordinals.filter(({ health }) => health === "ready").length;
  const updated = ordinals.filter(({ revision }) => revision !== "" && revision === updateRevision).length;
  const others = (["failing", "starting", "terminating", "missing"] as const).flatMap((health) => {
    const own = ordinals.filter((each) => each.health === health).map(({ ordinal }) => ordinal);
    if (own.length === 0) return [];
    const more = own.length > named ? ` and ${own.length - named} more` : "";
    return [`${own.slice(0, named).join(", ")}${more} ${health}`];
  });
  return {
    summary: `${ready} of ${replicas} ready, ${updated} on the newest revision.`,
    others: others.length > 0 ? `${others.join("; ")}.` : "",
  };
}
