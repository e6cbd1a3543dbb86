import type { Pod, PodStatus } from "../../api/objects.ts";
import type { EarlyEnding } from "../status/status-facts.ts";

/** When a pod has had the time that `spec.activeDeadlineSeconds` gives it; undefined for one that may run for ever. */
export function activeDeadlineOf({ spec }: Pod, status: PodStatus | undefined): number | undefined {
  const seconds = spec?.activeDeadlineSeconds;
  if (!status?.startTime || seconds === undefined) return undefined;
  return Date.parse(status.startTime) + seconds * 1_000;
}

export const deadlineExceeded = {
  kind: "deadline",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
} as const satisfies EarlyEnding;
