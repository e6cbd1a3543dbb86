// Clauses: 3085-6
import type { Pod } from "../../api/meta/objects.ts";

export interface ShutdownTimes {
  /** Total grace period of all pods. */
  readonly shutdownGracePeriodMs: number;
  /** Last part of it, which is reserved for critical pods. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
}

export interface ShutdownWave {
  readonly pods: readonly Pod[];
  readonly graceSeconds: number;
}

/** Minimum priority of critical pods. */
const criticalPriority = 2_000_000_000;

/** Plans a node shutdown: ordinary pods terminate first, then critical ones, each within its part of the grace period. */
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
