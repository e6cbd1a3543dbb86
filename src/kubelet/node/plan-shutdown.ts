import type { Pod } from "../../api/objects.ts";

export interface ShutdownTimes {
  /** All that pods get, together. */
  readonly shutdownGracePeriodMs: number;
  /** The last part of it, for critical pods alone. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
}

export interface ShutdownWave {
  readonly pods: readonly Pod[];
  readonly graceSeconds: number;
}

/** From this priority on a pod is one that the node cannot do without. */
const criticalPriority = 2_000_000_000;

/** Who ends when as the node goes down: ordinary pods first, then critical ones, each within its part of the time. */
export function planShutdown(pods: readonly Pod[], times: ShutdownTimes): readonly ShutdownWave[] {
  const { shutdownGracePeriodMs, shutdownGracePeriodCriticalPodsMs } = times;
  const ordinaryMs = shutdownGracePeriodMs - shutdownGracePeriodCriticalPodsMs;
  const waves = [
    { pods: pods.filter((pod) => !isCritical(pod)), graceMs: ordinaryMs },
    { pods: pods.filter(isCritical), graceMs: shutdownGracePeriodCriticalPodsMs },
  ];
  return waves
    .filter((wave) => wave.pods.length > 0)
    .map(({ pods: ofWave, graceMs }) => ({ pods: ofWave, graceSeconds: Math.floor(graceMs / 1_000) }));
}

function isCritical({ spec }: Pod): boolean {
  return (spec?.priority ?? 0) >= criticalPriority;
}

export const shutdownEnding = {
  kind: "shutdown",
  reason: "Terminated",
  message: "Pod was terminated in response to imminent node shutdown.",
} as const;

export const shutdownRejection = {
  kind: "rejected",
  reason: "NodeShutdown",
  message: "Pod was rejected as the node is shutting down.",
} as const;
