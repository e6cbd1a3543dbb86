import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { createFilter } from "../text/create-filter.ts";

/** `stuck` is what does not heal by itself, in whatever stage. */
export type StageFilter = "all" | "stuck" | PodView["stage"];

export function filterPods(
  pods: Iterable<PodView>,
  { filter, stage }: { readonly filter: string; readonly stage: StageFilter },
): readonly PodView[] {
  const matches = createFilter(filter);
  const isIn = (pod: PodView) =>
    stage === "all" || (stage === "stuck" ? !pod.healsByItself : pod.stage === stage);
  return [...pods].filter((pod) => isIn(pod) && matches(`${pod.namespace}/${pod.name}`)).sort(compare);
}

/** Those that need somebody first, then the oldest: what is new comes at the end, and no row jumps. */
function compare(a: PodView, b: PodView): number {
  if (a.healsByItself !== b.healsByItself) return a.healsByItself ? 1 : -1;
  if (a.createdMs !== b.createdMs) return a.createdMs - b.createdMs;
  return a.uid < b.uid ? -1 : 1;
}

export interface Tally {
  readonly stage: StageFilter;
  readonly count: number;
}

const order: readonly PodView["stage"][] = [
  "scheduling",
  "volumes",
  "sandbox",
  "init",
  "pulling",
  "creating",
  "starting",
  "readiness",
  "crashing",
  "terminating",
  "ended",
  "ready",
];

/** How many pods are where, in the order of the way; what has none is left out. */
export function tallyStages(pods: Iterable<PodView>): readonly Tally[] {
  const counts = new Map<StageFilter, number>();
  const add = (stage: StageFilter) => counts.set(stage, (counts.get(stage) ?? 0) + 1);
  for (const pod of pods) {
    add("all");
    if (!pod.healsByItself) add("stuck");
    add(pod.stage);
  }
  return (["all", "stuck", ...order] as const).flatMap((stage) => {
    const count = counts.get(stage);
    return count ? [{ stage, count }] : [];
  });
}
