// Clauses: 3085-3
import type { Container, Pod } from "../../api/meta/objects.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { type BackoffPolicy, type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { formatGoDuration } from "../../lib/go-duration.ts";
import { containerFieldPath, describePod } from "../model/cri-labels.ts";
import type {
  CombinedProbeResult,
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../model/observed-pod.ts";
import type { StartProblem } from "../status/status-facts.ts";

/** Input of decidePodActions. */
export interface PodPlanFacts {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly probeResult: (containerId: string) => CombinedProbeResult;
  /** Whether a previous kubelet began the container's postStart hook and the hook has not completed. */
  readonly hookPending: (containerId: string) => boolean;
  /** Upper bound of the crash loop back-off. */
  readonly maxRestartDelayMs: number;
  readonly now: number;
}

/** One step that brings a pod closer to its desired state. */
export type PodAction =
  | { readonly kind: "stopSandbox"; readonly sandbox: ObservedSandbox }
  | { readonly kind: "killContainer"; readonly observed: ObservedContainer; readonly why: KillReason }
  | { readonly kind: "createSandbox"; readonly attempt: number }
  | {
      readonly kind: "startContainer";
      readonly container: Container;
      readonly role: ContainerRole;
      readonly sandbox: ObservedSandbox;
      readonly attempt: number;
      /** Back-off before the restart that follows this container. */
      readonly nextRestartDelayMs: number;
      /** Container of the same attempt that was created but never started; removed first. */
      readonly replaces?: ObservedContainer;
    }
  | {
      /** Runs the postStart hook of a running container again: hooks are delivered at least once. */
      readonly kind: "resumePostStart";
      readonly container: Container;
      readonly sandbox: ObservedSandbox;
      readonly observed: ObservedContainer;
    };

export type ContainerRole = "init" | "sidecar" | "main";

export interface KillReason {
  readonly message: string;
  readonly gracePeriodSeconds?: number;
}

export interface PodPlan {
  /** Whether the pod has completed: none of its containers runs or is going to be started. */
  readonly done: boolean;
  /** Actions in the order in which they run. The worker decides again afterwards. */
  readonly actions: readonly PodAction[];
  /** Containers in CrashLoopBackOff, by name. */
  readonly crashLoops: ReadonlyMap<string, StartProblem>;
  /** Time of the next decision if nothing changes before. */
  readonly decideAgainAt: number | undefined;
}

/** Back-off of failed plans and failed workers. */
export const retryPolicy: BackoffPolicy = { initialMs: 500, maxMs: 10_000, factor: 2, resetAfterMs: 60_000 };

/** Back-off for the last failed plan. A different plan is not delayed. */
interface PlanRetry {
  /** Earliest time at which the plan may run; 0 when it has not failed. */
  earliest(plan: PodPlan): number;
  failed(plan: PodPlan): void;
  /** Resets the back-off. */
  forget(): void;
}

export function createPlanRetry(clock: Pick<Clock, "now">): PlanRetry {
  let last: { readonly plan: string; readonly state: BackoffState } | undefined;
  return {
    earliest: (plan) => (last?.plan === describe(plan) ? last.state.failedAt + last.state.delayMs : 0),
    failed(plan) {
      const description = describe(plan);
      const before = last?.plan === description ? last.state : undefined;
      last = { plan: description, state: backOff(retryPolicy, before, clock.now()) };
    },
    forget() {
      last = undefined;
    },
  };
}

/** Describes a plan without attempt numbers, so that retries of the same actions compare equal. */
function describe({ actions }: PodPlan): string {
  return actions
    .map((action) => (action.kind === "startContainer" ? `start ${action.container.name}` : action.kind))
    .join(", ");
}

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
