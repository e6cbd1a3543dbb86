import type { Pod } from "../../api/meta/objects.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { formatGoDuration } from "../../lib/go-duration.ts";
import type { ObservedContainer } from "../model/observed-pod.ts";
import { containerFieldPath, describePod } from "../model/pod-names.ts";
import type { PodPlan } from "./pod-plan.ts";

const firstDelayMs = 10_000;
/** Run time after which a container counts as stable and its back-off is reset. */
const stableMs = 10 * 60_000;

interface RestartDelay {
  /** Delay between the exit of this container and its restart. */
  readonly nowMs: number;
  /** Delay that applies after the exit of the next container. */
  readonly nextMs: number;
}

interface RestartFacts {
  /** Whether the container ran in an earlier sandbox, which ended in a reboot or was killed. */
  readonly sandboxLost: boolean;
  readonly maxDelayMs: number;
}

/**
 * Back-off of a crash loop: 0 s, 10 s, 20 s and so on. Each container stores the delay that applies after it in its CRI
 * annotations, so that a restarted kubelet continues the back-off.
 */
export function restartDelayMs(
  observed: ObservedContainer,
  { sandboxLost, maxDelayMs }: RestartFacts,
): RestartDelay {
  const { state } = observed;
  // The end of its sandbox is no crash of the container: it starts at once, and a crash loop continues where it was.
  if (sandboxLost) return { nowMs: 0, nextMs: Math.min(observed.restartDelayMs, maxDelayMs) };
  // Runtimes report a start time of 0 for a container that failed to start.
  const ran = state.kind === "exited" && state.startedAtMs > 0;
  const wasStable = ran && state.finishedAtMs - state.startedAtMs > stableMs;
  const nowMs = wasStable ? 0 : Math.min(observed.restartDelayMs, maxDelayMs);
  return { nowMs, nextMs: Math.min(nowMs === 0 ? firstDelayMs : nowMs * 2, maxDelayMs) };
}

export function crashLoopMessage(pod: Pod, containerName: string, delayMs: number): string {
  const delay = formatGoDuration(delayMs);
  return `back-off ${delay} restarting failed container=${containerName} pod=${describePod(pod)}`;
}

/** Records a BackOff event for each container whose back-off has begun or changed. */
export function recordCrashLoops(
  recorder: Pick<EventRecorder, "record">,
  pod: Pod,
  { before, now }: { readonly before: PodPlan["crashLoops"]; readonly now: PodPlan["crashLoops"] },
): void {
  for (const [name, problem] of now) {
    if (before.get(name)?.message === problem.message) continue;
    const message = `Back-off restarting failed container ${name} in pod ${describePod(pod)}`;
    const fieldPath = containerFieldPath(pod, name);
    recorder.record(pod, { type: "Warning", reason: "BackOff", message, fieldPath });
  }
}
