import { isReady } from "../../api/conditions.ts";
import type { Pod } from "../../api/objects.ts";

/** The newest revision first, for it is what a rollout waits for; of those the lowest ordinal. */
export function chooseHoldUp(pods: readonly Pod[], updateRevision: string | undefined): Pod | undefined {
  const byOrdinal = pods.filter((pod) => !isReady(pod)).toSorted((a, b) => ordinalOf(a) - ordinalOf(b));
  return byOrdinal.find((pod) => revisionOf(pod) === updateRevision) ?? byOrdinal[0];
}

export function revisionOf({ metadata }: Pod): string | undefined {
  return metadata.labels?.["controller-revision-hash"];
}

export function ordinalOf({ metadata }: Pod): number {
  return Number(/-(\d+)$/.exec(metadata.name ?? "")?.[1] ?? 0);
}
