// Clauses: 3085-3
import type { Container, Pod } from "../../api/meta/objects.ts";
import { type BackoffPolicy, type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../model/observed-pod.ts";
import type { CombinedProbeResult } from "../model/prober.ts";
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
export interface PlanRetry {
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
