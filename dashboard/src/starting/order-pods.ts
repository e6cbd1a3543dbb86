import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { createFilter } from "../text/create-filter.ts";

/** Stage filter; `stuck` selects pods that cannot recover automatically, in any stage. */
export type StageFilter = "all" | "stuck" | PodView["stage"];

export function filterPods(
  pods: Iterable<PodView>,
  { filter, stage }: { readonly filter: string; readonly stage: StageFilter },
): readonly PodView[] {
  const matches = createFilter(filter);
  const isIn = (pod: PodView) =>
    stage === "all" || (stage === "stuck" ? !pod.isTransient : pod.stage === stage);
  return [...pods].filter((pod) => isIn(pod) && matches(`${pod.namespace}/${pod.name}`)).sort(compare);
}

/** Stuck pods first, then the oldest, so that new pods are appended and rows keep their place. */
function compare(a: PodView, b: PodView): number {
  if (a.isTransient !== b.isTransient) return a.isTransient ? 1 : -1;
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

/** Number of pods by stage, in the order of the stages; empty stages are omitted. */
export function tallyStages(pods: Iterable<PodView>): readonly Tally[] {
  const counts = new Map<StageFilter, number>();
  const add = (stage: StageFilter) => counts.set(stage, (counts.get(stage) ?? 0) + 1);
  for (const pod of pods) {
    add("all");
    if (!pod.isTransient) add("stuck");
    add(pod.stage);
  }
  return (["all", "stuck", ...order] as const).flatMap((stage) => {
    const count = counts.get(stage);
    return count ? [{ stage, count }] : [];
  });
}
