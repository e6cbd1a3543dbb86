import { conditionOf, isReady } from "../api/conditions.ts";
import type { Pod } from "../api/objects.ts";

/** The API server has it: what is only planned has no phase. */
export function isCreated({ status }: Pod): boolean {
  return Boolean(status?.phase);
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === "Running" && isReady(pod);
}

/** How long until a pod has been ready for long enough; 0 when it has, undefined when it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(conditionOf(pod, "Ready")?.lastTransitionTime ?? "");
  if (Number.isNaN(since)) return undefined;
  return Math.max(0, since + minReadySeconds * 1_000 - now);
}

export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  return availableInMs(pod, minReadySeconds, now) === 0;
}
