import type { Container, Pod } from "../../api/objects.ts";
import { isFinalPhase } from "../../api/pod-phase.ts";
import { criErrorText } from "../../cri/error-text.ts";
import { retry } from "../../lib/backoff.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { EarlyEnding, PodEnding } from "../status/status-facts.ts";
import type { MountedVolumes, PodVolumes } from "../volume/pod-volumes.ts";
import { activeDeadlineOf, deadlineExceeded } from "./active-deadline.ts";
import { decidePodActions } from "./decide-pod-actions.ts";
import { createPlanRetry, retryPolicy } from "./plan-retry.ts";
import type { PodPlan } from "./pod-plan.ts";
import { graceSeconds, type PodActionDeps, runPodActions } from "./run-pod-actions.ts";
import { stopPod } from "./stop-pod.ts";
import { createWorkerStatus, type WorkerStatusDeps } from "./worker-status.ts";
import { createWorkerVolumes } from "./worker-volumes.ts";

/** What the kubelet has of one pod: the worker reads it anew at each step. */
export interface PodSubject {
  /** As its source has it now. */
  readonly pod: Pod;
  /** Gone from its source: deleted from the API without waiting for us, or its file removed. */
  readonly removed: boolean;
  /** The object in the API that shows the status: the pod itself, a static pod's mirror, or not there (yet). */
  readonly inApi: Pod | undefined;
}

export interface PodWorkerDeps extends PodActionDeps, WorkerStatusDeps {
  readonly volumes: PodVolumes;
  readonly specHash: (container: Container) => string;
  readonly maxRestartDelayMs: number;
  /** Why this node cannot take the pod at all; asked once, before anything of it runs. */
  readonly reject: (pod: Pod) => EarlyEnding | undefined;
  /** Removes what the runtime and the disk still have of a pod that is over. */
  readonly cleanUp: (podUid: string, signal: AbortSignal) => Promise<void>;
  /** Takes the pod out of the API, where it was only waiting for us. */
  readonly deleteFromApi: (pod: Pod, signal: AbortSignal) => Promise<void>;
}

export interface PodWorker {
  /** The source has something new about the pod. */
  update(subject: PodSubject): void;
  /** Something that the pod depends on may have changed: try again now. */
  retryNow(): void;
  /** The runtime or a probe says something new. */
  noticed(): void;
  /** Ends the pod for a reason of the node's own. */
  endNow(ending: EarlyEnding, graceSeconds?: number): void;
  /** Resolves once nothing of the pod runs any more and the API knows. */
  readonly ended: Promise<void>;
  /** Until the pod is over and nothing of it is left, or the signal aborts: then everything goes on running. */
  run(signal: AbortSignal): Promise<void>;
}

/** One pod's life on this node: it lives, ends and is buried, in this order whatever happens in between. */
export function createPodWorker(deps: PodWorkerDeps, first: PodSubject): PodWorker {
  const { clock, observer, prober, writer } = deps;
  const { uid = "" } = first.pod.metadata;
  const wakeUp = createWakeUp();
  const volumes = createWorkerVolumes(deps);
  let subject = first;
  let ending: PodEnding | undefined;
  const status = createWorkerStatus(deps, { uid, subject: () => subject, ending: () => ending });
  let graceOverride: number | undefined;
  const planRetry = createPlanRetry(clock);
  let markEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    markEnded = resolve;
  });
  /** Aborted when the pod begins to end. */
  const living = new AbortController();
  /** Aborts what is under way when the pod has to end, or has to end sooner. */
  let hurry = new AbortController();

  function noticed(): void {
    const observed = observer.get(uid);
    if (observed) prober.observe(subject.pod, observed);
    status.publish();
    wakeUp.wake();
  }

  const isLeaving = () => subject.removed || subject.pod.metadata.deletionTimestamp !== undefined;
  const shouldEnd = () => ending !== undefined || isLeaving() || isFinalPhase(subject.pod.status?.phase);

  /** Until the pod has done what it had to, or has to end. */
  async function live(signal: AbortSignal): Promise<void> {
    if (!shouldEnd() && !observer.get(uid)) {
      ending = deps.reject(subject.pod);
      if (ending) deps.recorder.record(subject.pod, { type: "Warning", ...ending });
    }
    noticed();
    while (!shouldEnd()) {
      const woken = wakeUp.next();
      const deadline = activeDeadlineOf(subject.pod, subject.inApi && writer.latest(subject.inApi));
      if (deadline !== undefined && deadline <= clock.now()) {
        endNow(deadlineExceeded);
        deps.recorder.record(subject.pod, { type: "Normal", ...deadlineExceeded });
        return;
      }
      const plan = decide();
      if (plan.done) return;
      const again = planRetry.earliest(plan);
      if (plan.actions.length > 0 && again <= clock.now()) {
        await carryOut(plan, signal);
        continue;
      }
      const until = Math.min(plan.decideAgainAt ?? Infinity, again || Infinity, deadline ?? Infinity);
      await woken.orAt(until, { clock, signal });
    }
  }

  function decide(): PodPlan {
    const plan = decidePodActions({
      pod: subject.pod,
      observed: observer.get(uid),
      verdict: (containerId) => prober.verdict(subject.pod, containerId),
      hookPending: status.isHookPending,
      specHash: deps.specHash,
      maxRestartDelayMs: deps.maxRestartDelayMs,
      now: clock.now(),
    });
    status.setCrashLoops(plan.crashLoops);
    return plan;
  }

  async function carryOut(plan: PodPlan, signal: AbortSignal): Promise<void> {
    const acting = AbortSignal.any([signal, hurry.signal]);
    try {
      const succeeded = await runPodActions(deps, {
        pod: subject.pod,
        observed: observer.get(uid),
        actions: plan.actions,
        reports: status.reports,
        mountVolumes,
        signal: acting,
      });
      // Each action has looked at what it did.
      if (succeeded) return planRetry.forget();
    } catch (error) {
      signal.throwIfAborted();
      if (acting.aborted) return;
      deps.logger.warn("a pod could not be brought forward", { pod: subject.pod.metadata.name, error });
    }
    planRetry.failed(plan);
    await observer
      .refresh(uid)
      .catch((error) => deps.logger.debug("a pod could not be looked at", { error }));
  }

  async function mountVolumes(signal: AbortSignal, onGathered?: () => void): Promise<MountedVolumes> {
    const mounted = await volumes.mount(subject.pod, signal, onGathered);
    status.volumesMounted();
    return mounted;
  }

  /** Until nothing of the pod runs any more. */
  async function end(signal: AbortSignal): Promise<void> {
    prober.stopping(uid);
    status.publish();
    for (;;) {
      hurry = new AbortController();
      try {
        await stopPod(deps, {
          pod: subject.pod,
          observed: await observer.refresh(uid),
          graceSeconds: graceOverride ?? graceSeconds(subject.pod),
          signal: AbortSignal.any([signal, hurry.signal]),
        });
        await observer.refresh(uid);
        break;
      } catch (error) {
        signal.throwIfAborted();
        if (hurry.signal.aborted) continue;
        const message = `error killing pod: ${criErrorText(error)}`;
        deps.recorder.record(subject.pod, { type: "Warning", reason: "FailedKillPod", message });
        await clock.sleep(retryPolicy.maxMs / 10, signal);
      }
    }
    ending ??= { kind: "terminated" };
    status.publish();
    if (subject.inApi) await writer.flushed(subject.inApi.metadata.uid ?? "", signal);
  }

  /** Until the pod is gone from the API and nothing of it is left here. */
  async function bury(signal: AbortSignal): Promise<void> {
    await keepTrying(() => deps.volumes.tearDown(uid), signal);
    // A pod that has done its work stays, with its logs, until somebody deletes it.
    for (;;) {
      const woken = wakeUp.next();
      if (isLeaving()) break;
      await woken.orAt(Infinity, { clock, signal });
    }
    await keepTrying(() => deps.cleanUp(uid, signal), signal);
    const { inApi } = subject;
    if (inApi?.metadata.deletionTimestamp) await keepTrying(() => deps.deleteFromApi(inApi, signal), signal);
    prober.forget(uid);
    deps.images.forget(uid);
    if (inApi) writer.forget(inApi.metadata.uid ?? "");
  }

  function keepTrying(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const onFailure = (error: unknown) =>
      deps.logger.warn("a pod could not be cleaned up", { pod: subject.pod.metadata.name, error });
    return retry(work, { policy: retryPolicy, clock, signal, onFailure });
  }

  function endNow(reason: EarlyEnding, grace?: number): void {
    ending ??= reason;
    if (grace !== undefined) graceOverride = Math.min(grace, graceOverride ?? grace);
    hurry.abort(new Error("the pod ends"));
    wakeUp.wake();
  }

  return {
    update(next) {
      const wasEnding = shouldEnd();
      const graceBefore = graceSeconds(subject.pod);
      // Only what was asked for counts: the echo of our own status must not make a failed plan run again at once.
      if (JSON.stringify(subject.pod.spec) !== JSON.stringify(next.pod.spec)) planRetry.forget();
      volumes.follow(subject.pod, next.pod);
      subject = next;
      const endsSooner = !wasEnding || graceSeconds(next.pod) < graceBefore;
      if (shouldEnd() && endsSooner) hurry.abort(new Error("the pod ends"));
      noticed();
    },
    retryNow() {
      planRetry.forget();
      volumes.changed();
      wakeUp.wake();
    },
    noticed,
    endNow,
    ended,
    async run(signal) {
      const following = volumes.run(() => subject.pod, AbortSignal.any([signal, living.signal]));
      // What a kubelet before this one has made is followed from now on.
      if (observer.get(uid) && !shouldEnd()) volumes.changed();
      await live(signal).finally(() => living.abort());
      await end(signal);
      markEnded();
      await following;
      await bury(signal);
    },
  };
}
