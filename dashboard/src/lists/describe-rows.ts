import type { StatefulSetView } from "../../../src/monitor/feed/feed-message.ts";

/** `99.95 %`, rounded down to at most two digits, so that it reads 100 % only if it is. */
export function percentText(part: number): string {
  const percent = Math.floor(part * 10_000 + 1e-6) / 100;
  return `${percent} %`;
}

export function describeBudget(left: number): string {
  if (left > 0) return `${Math.max(1, Math.round(left * 100))} % of the error budget left`;
  return left === 0 ? "The error budget is spent" : `Overspent by ${Math.round(-left * 100)} %`;
}

/** Formats the burn rate. At 1 the budget lasts exactly for its window. */
export function describeBurn(rate: number): string {
  return `burn rate ${rate >= 10 ? Math.round(rate) : Math.round(rate * 100) / 100}`;
}

export function toneOfBudget(left: number): "ready" | "readiness" | "failing" {
  if (left <= 0) return "failing";
  return left < 0.25 ? "readiness" : "ready";
}

/** Maximum number of ordinals that are listed by number. */
const maxListed = 5;

/** Describes the strip for screen readers: counts of ready and updated pods, then the pods that are not ready. */
export function describeOrdinals({ ordinals, replicas, updateRevision }: StatefulSetView): {
  readonly summary: string;
  readonly others: string;
} {
  const ready = ordinals.filter(({ health }) => health === "ready").length;
  const updated = ordinals.filter(({ revision }) => revision !== "" && revision === updateRevision).length;
  const others = (["failing", "starting", "terminating", "missing"] as const).flatMap((health) => {
    const own = ordinals.filter((each) => each.health === health).map(({ ordinal }) => ordinal);
    if (own.length === 0) return [];
    const more = own.length > maxListed ? ` and ${own.length - maxListed} more` : "";
    return [`${own.slice(0, maxListed).join(", ")}${more} ${health}`];
  });
  return {
    summary: `${ready} of ${replicas} ready, ${updated} on the newest revision.`,
    others: others.length > 0 ? `${others.join("; ")}.` : "",
  };
}
