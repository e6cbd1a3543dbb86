// Clauses: 3085-6, 950-9
import type { Pod, PodStatus } from "../../api/meta/objects.ts";
import { isFinalPhase } from "../../api/pod/pod-state.ts";
import { criErrorText } from "../../cri/error-text.ts";
import { retry } from "../../lib/backoff.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { PodTermination, TerminationReason } from "../status/status-facts.ts";
import type { MountedVolumes, PodVolumes } from "../volumes/pod-volumes.ts";
import { decidePodActions } from "./decide-pod-actions.ts";
import { createPlanRetry, type PodPlan, retryPolicy } from "./pod-plan.ts";
import { graceSeconds, type PodActionDeps, runPodActions } from "./run-pod-actions.ts";
import { stopPod } from "./stop-pod.ts";
import { createWorkerStatus, type WorkerStatusDeps } from "./worker-status.ts";
import { createWorkerVolumes } from "./worker-volumes.ts";

/** Latest state of a pod in its source (API server or static pod directory). */
export interface PodUpdate {
  readonly pod: Pod;
  /** Whether the pod is gone from its source: force-deleted from the API, or its manifest file was removed. */
  readonly removed: boolean;
  /** API object that carries the status: the pod itself or a static pod's mirror pod; undefined while there is none. */
  readonly inApi: Pod | undefined;
}

export interface PodWorkerDeps extends PodActionDeps, WorkerStatusDeps {
  readonly volumes: PodVolumes;
  readonly maxRestartDelayMs: number;
  /** Reason why this node rejects the pod. Called once, before anything of the pod runs. */
  readonly reject: (pod: Pod, signal: AbortSignal) => Promise<TerminationReason | undefined>;
  /** Whether an earlier pod of this name still runs on this node. The pod then waits until its worker is woken. */
  readonly hasPredecessor: (pod: Pod) => boolean;
  /** Removes the containers, sandboxes and directories of a terminated pod. */
  readonly cleanUpPod: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** Deletes a terminated pod from the API. */
  readonly deleteFromApi: (pod: Pod, signal: AbortSignal) => Promise<void>;
}

export interface PodWorker {
  /** Applies a change of the pod in its source. */
  update(next: PodUpdate): void;
  /** Retries failed actions and volume updates now, because something that the pod depends on may have changed. */
  retryNow(): void;
  /** Publishes the status and syncs after a change in the runtime or of a probe result. */
  onStateChanged(): void;
  /** Terminates the pod for a reason of the node, for example a node shutdown. */
  terminateNow(reason: TerminationReason, graceSeconds?: number): void;
  /** Resolves when no container of the pod runs any more and the API has the final status. */
  readonly terminated: Promise<void>;
  /** Runs until the pod is cleaned up, or until the signal aborts; in that case its containers keep running. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Worker for one pod. Its phases always run in this order:
 *
 *     sync (start and restart containers) ── terminate (stop containers) ── clean up (remove what is left)
 */
export function createPodWorker(deps: PodWorkerDeps, first: PodUpdate): PodWorker {
  const { clock, observer, prober, writer } = deps;
  const { uid = "" } = first.pod.metadata;
  const wakeUp = createWakeUp();
  const volumes = createWorkerVolumes(deps);
  let latest = first;
  let termination: PodTermination | undefined;
  const status = createWorkerStatus(deps, { uid, latest: () => latest, termination: () => termination });
  let graceOverride: number | undefined;
  const planRetry = createPlanRetry(clock);
  let markTerminated = () => {};
  const terminated = new Promise<void>((resolve) => {
    markTerminated = resolve;
  });
  /** Aborted when termination begins. */
  const syncing = new AbortController();
  /** Aborts running actions when the pod has to terminate, or has to terminate sooner. */
  let actionAbort = new AbortController();
  /** The postStart hook that the current plan runs, and the abort of that plan. */
  let hook: { readonly containerId: string; readonly planAbort: AbortController } | undefined;

  function onStateChanged(): void {
    const observed = observer.get(uid);
    if (observed) prober.observe(latest.pod, observed);
    status.publish();
    // The next plan kills the container. A plan that waits for the hook would let it run for as long as the hook does.
    if (hook && prober.probeResult(latest.pod, hook.containerId).kill)
      hook.planAbort.abort(new Error("a probe failed during the postStart hook"));
    wakeUp.wake();
  }

  const isDeleted = () => latest.removed || latest.pod.metadata.deletionTimestamp !== undefined;
  const shouldTerminate = () =>
    termination !== undefined || isDeleted() || isFinalPhase(latest.pod.status?.phase);

  /** Returns when the pod has completed or has to terminate. */
  async function sync(signal: AbortSignal): Promise<void> {
    if (!observer.get(uid)) await untilPredecessorEnded(signal);
    if (!shouldTerminate() && !observer.get(uid)) {
      const rejection = await deps.reject(latest.pod, signal);
      termination ??= rejection;
      if (rejection) deps.recorder.record(latest.pod, { type: "Warning", ...rejection });
    }
    onStateChanged();
    while (!shouldTerminate()) {
      const woken = wakeUp.next();
      const deadline = activeDeadlineOf(latest.pod, latest.inApi && writer.latest(latest.inApi));
      if (deadline !== undefined && deadline <= clock.now()) {
        terminateNow(deadlineExceeded);
        deps.recorder.record(latest.pod, { type: "Normal", ...deadlineExceeded });
        return;
      }
      const plan = decide();
      if (plan.done) return;
      const retryAt = planRetry.earliest(plan);
      if (plan.actions.length > 0 && retryAt <= clock.now()) {
        await runPlan(plan, signal);
        continue;
      }
      const until = Math.min(plan.decideAgainAt ?? Infinity, retryAt || Infinity, deadline ?? Infinity);
      await woken.orAt(until, { clock, signal });
    }
  }

  async function untilPredecessorEnded(signal: AbortSignal): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const woken = wakeUp.next();
      if (shouldTerminate() || !deps.hasPredecessor(latest.pod)) return;
      if (isFirst) {
        status.publish();
        deps.recorder.record(latest.pod, { type: "Normal", ...waitsForPredecessor });
      }
      await woken.orAt(Infinity, { clock, signal });
    }
  }

  function decide(): PodPlan {
    const plan = decidePodActions({
      pod: latest.pod,
      observed: observer.get(uid),
      probeResult: (containerId) => prober.probeResult(latest.pod, containerId),
      hookPending: status.isHookPending,
      maxRestartDelayMs: deps.maxRestartDelayMs,
      now: clock.now(),
    });
    status.setCrashLoops(plan.crashLoops);
    return plan;
  }

  async function runPlan(plan: PodPlan, signal: AbortSignal): Promise<void> {
    const planAbort = new AbortController();
    const acting = AbortSignal.any([signal, actionAbort.signal, planAbort.signal]);
    try {
      const succeeded = await runPodActions(deps, {
        pod: latest.pod,
        observed: observer.get(uid),
        actions: plan.actions,
        reports: status.reports,
        mountVolumes,
        async duringHook(containerId, run) {
          hook = { containerId, planAbort };
          await run().finally(() => {
            hook = undefined;
          });
        },
        signal: acting,
      });
      // Each action has refreshed what it changed.
      if (succeeded) return planRetry.forget();
    } catch (error) {
      signal.throwIfAborted();
      if (acting.aborted) return;
      deps.logger.warn("pod sync failed, retrying with back-off", { pod: latest.pod.metadata.name, error });
    }
    planRetry.failed(plan);
    await observer
      .refresh(uid)
      .catch((error) => deps.logger.debug("failed to read the state of a pod from the runtime", { error }));
  }

  async function mountVolumes(signal: AbortSignal, onGathered?: () => void): Promise<MountedVolumes> {
    const mounted = await volumes.mount(latest.pod, signal, onGathered);
    status.volumesMounted();
    return mounted;
  }

  /** Stops all containers and sandboxes, then waits until the API has the final status. */
  async function terminate(signal: AbortSignal): Promise<void> {
    prober.stopping(uid);
    status.publish();
    for (;;) {
      actionAbort = new AbortController();
      try {
        await stopPod(deps, {
          pod: latest.pod,
          observed: await observer.refresh(uid),
          // A node shutdown shortens the grace period of a pod and never extends it.
          graceSeconds: Math.min(graceOverride ?? Infinity, graceSeconds(latest.pod)),
          signal: AbortSignal.any([signal, actionAbort.signal]),
        });
        await observer.refresh(uid);
        break;
      } catch (error) {
        signal.throwIfAborted();
        if (actionAbort.signal.aborted) continue;
        const message = `error killing pod: ${criErrorText(error)}`;
        deps.recorder.record(latest.pod, { type: "Warning", reason: "FailedKillPod", message });
        await clock.sleep(retryPolicy.maxMs / 10, signal);
      }
    }
    termination ??= { kind: "terminated" };
    status.publish();
    if (latest.inApi) await writer.flushed(latest.inApi.metadata.uid ?? "", signal);
  }

  /** Tears down the volumes; once the pod is deleted, removes everything else and deletes it from the API. */
  async function cleanUp(signal: AbortSignal): Promise<void> {
    await keepTrying(() => deps.volumes.tearDown(uid), signal);
    // A completed pod keeps its containers and logs until it is deleted.
    for (;;) {
      const woken = wakeUp.next();
      if (isDeleted()) break;
      await woken.orAt(Infinity, { clock, signal });
    }
    await keepTrying(() => deps.cleanUpPod(first.pod, signal), signal);
    const { inApi } = latest;
    if (inApi?.metadata.deletionTimestamp) await keepTrying(() => deps.deleteFromApi(inApi, signal), signal);
    prober.forget(uid);
    deps.images.forget(uid);
    if (inApi) writer.forget(inApi.metadata.uid ?? "");
  }

  function keepTrying(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const onFailure = (error: unknown) =>
      deps.logger.warn("pod cleanup failed, retrying", { pod: latest.pod.metadata.name, error });
    return retry(work, { policy: retryPolicy, clock, signal, onFailure });
  }

  function terminateNow(reason: TerminationReason, grace?: number): void {
    termination ??= reason;
    if (grace !== undefined) graceOverride = Math.min(grace, graceOverride ?? grace);
    actionAbort.abort(new Error("the pod terminates"));
    wakeUp.wake();
  }

  return {
    update(next) {
      const wasTerminating = shouldTerminate();
      const graceBefore = graceSeconds(latest.pod);
      // Compares only the spec: the kubelet's own status update must not reset the back-off of a failed plan.
      if (JSON.stringify(latest.pod.spec) !== JSON.stringify(next.pod.spec)) planRetry.forget();
      volumes.follow(latest.pod, next.pod);
      latest = next;
      const isSooner = !wasTerminating || graceSeconds(next.pod) < graceBefore;
      if (shouldTerminate() && isSooner) actionAbort.abort(new Error("the pod terminates"));
      onStateChanged();
    },
    retryNow() {
      planRetry.forget();
      volumes.changed();
      wakeUp.wake();
    },
    onStateChanged,
    terminateNow,
    terminated,
    async run(signal) {
      const updatingVolumes = volumes.run(() => latest.pod, AbortSignal.any([signal, syncing.signal]));
      // Volumes of a previous kubelet may have become outdated while no kubelet was running.
      if (observer.get(uid) && !shouldTerminate()) volumes.changed();
      await sync(signal).finally(() => syncing.abort());
      await terminate(signal);
      markTerminated();
      await updatingVolumes;
      await cleanUp(signal);
    },
  };
}

/** Time at which `spec.activeDeadlineSeconds` expires; undefined without a deadline or before the pod has started. */
function activeDeadlineOf({ spec }: Pod, status: PodStatus | undefined): number | undefined {
  const seconds = spec?.activeDeadlineSeconds;
  if (!status?.startTime || seconds === undefined) return undefined;
  return Date.parse(status.startTime) + seconds * 1_000;
}

const waitsForPredecessor = {
  reason: "PreviousPodTerminating",
  message:
    "The previous pod of this name is still terminating on this node; this pod starts when it has stopped",
} as const;

const deadlineExceeded = {
  kind: "deadline",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
} as const satisfies TerminationReason;
