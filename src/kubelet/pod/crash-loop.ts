import type { Pod } from "../../api/objects.ts";
import { formatGoDuration } from "../../lib/go-duration.ts";
import { describePod } from "../container/config-error.ts";
import type { ObservedContainer } from "../observed-pod.ts";

const firstDelayMs = 10_000;
/** One that ran this long has shown that it can: its next failure is a first one again. */
const stableMs = 10 * 60_000;

interface RestartDelay {
  /** How long the restart of this container waits after its end. */
  readonly nowMs: number;
  /** How long the restart of its successor will. */
  readonly nextMs: number;
}

/**
 * The back-off of a crash loop: at once, then 10 s, 20 s and so on. It is kept with the containers themselves (each is
 * made with the delay that applies after it), so that a kubelet that starts anew goes on where the last one was.
 */
export function restartDelayMs(observed: ObservedContainer, maxDelayMs: number): RestartDelay {
  const { state } = observed;
  // One that could not be started was never up: runtimes give 0 as the time of its start.
  const ran = state.kind === "exited" && state.startedAtMs > 0;
  const wasStable = ran && state.finishedAtMs - state.startedAtMs > stableMs;
  const nowMs = wasStable ? 0 : Math.min(observed.restartDelayMs, maxDelayMs);
  return { nowMs, nextMs: Math.min(nowMs === 0 ? firstDelayMs : nowMs * 2, maxDelayMs) };
}

export function crashLoopMessage(pod: Pod, containerName: string, delayMs: number): string {
  const delay = formatGoDuration(delayMs);
  return `back-off ${delay} restarting failed container=${containerName} pod=${describePod(pod)}`;
}
