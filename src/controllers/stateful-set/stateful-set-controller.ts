import type { Pod, StatefulSet } from "../../api/objects.ts";
import { newerCopy } from "../../api/resource-version.ts";
import { labelSelectorOf, matchesLabels } from "../../api/selector.ts";
import { createExpectations } from "../../client/expectations.ts";
import { keyOf } from "../../client/object-key.ts";
import { isNotFound } from "../../client/status-errors.ts";
import { claimObjects, decideClaim } from "../claim-objects.ts";
import { orphanedIn } from "../informers.ts";
import {
  type ControllerContext,
  type ControllerOptions,
  type Reconciled,
  runController,
} from "../run-controller.ts";
import { revisionsToForget } from "./decide-revisions.ts";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { isMemberOf } from "./pod-identity.ts";
import { runPhases } from "./run-phases.ts";
import type { PodAction } from "./stateful-set-facts.ts";
import { measureStatefulSets } from "./stateful-set-metrics.ts";
import { ensureRevisions, type Revisions } from "./stateful-set-revisions.ts";
import { type StatefulSetStatus, statusAfter, statusToWrite, withCondition } from "./stateful-set-status.ts";
import { switchedOff } from "./switched-off.ts";
import { watchStatefulSets } from "./watch-stateful-sets.ts";

/** How long to wait for what was done to be seen, before a look at what there is. */
const unseenMs = 300_000;

/**
 * A look at thousands of pods takes its time, and they change by the hundred a second: a set rests for a multiple of what
 * the last look took, so that others in this process get their turn. Small sets never notice.
 */
const restFactor = 8;
const longestRestMs = 1_000;

/** Keeps StatefulSets as they should be, until the signal aborts. */
export function runStatefulSetController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  return runController(context, statefulSetController(context, signal), signal);
}

export function statefulSetController(
  context: Pick<ControllerContext, "client" | "clock" | "features" | "informers" | "metrics" | "recorder">,
  signal: AbortSignal,
): ControllerOptions {
  const { client, clock, features, informers, metrics } = context;
  const recorder = context.recorder("statefulset-controller");
  const sets = informers.of("statefulsets");
  const pods = informers.of("pods");
  const claims = informers.of("persistentvolumeclaims");
  informers.of("controllerrevisions");
  const expectations = createExpectations({ clock });
  const countSkip = metrics && measureStatefulSets({ metrics, clock, sets, pods }, signal);
  /** Our own last word on a set, which the informer may not have heard yet. */
  const written = new Map<string, StatefulSet>();

  /** Until when sets rest. */
  const rests = new Map<string, number>();

  async function reconcile(key: string): Promise<Reconciled> {
    const seen = sets.get(key);
    if (!seen) {
      expectations.forget(key);
      written.delete(key);
      rests.delete(key);
      return undefined;
    }
    const restMs = (rests.get(key) ?? 0) - clock.now();
    // Longer than that only when the clock was set back.
    if (restMs > 0 && restMs <= longestRestMs) return { againAfterMs: restMs };
    const set = newerCopy(seen, written.get(key));
    if (set === seen) written.delete(key);
    const off = switchedOff(set, features);
    if (off) return leaveAlone(set, off);
    if (!expectations.satisfied(key)) {
      countSkip?.();
      return { againAfterMs: unseenMs };
    }
    return bringForward(key, set);
  }

  async function leaveAlone(set: StatefulSet, message: string): Promise<undefined> {
    const before = set.status ?? { replicas: 0 };
    const reason = "UnknownStrategy";
    if (before.conditions?.some((old) => old.reason === reason && old.message === message)) return;
    recorder.record(set, { type: "Warning", reason, message });
    const condition = { type: "Progressing", status: "False", reason, message };
    await writeStatus(set, withCondition(before, condition, clock.now()));
  }

  async function bringForward(key: string, set: StatefulSet): Promise<Reconciled> {
    const revisions = await ensureRevisions({ client, informers }, set, signal);
    const own = await ownPods(set);
    const now = clock.now();
    const claim = (name: string) => claims.get(`${set.metadata.namespace}/${name}`);
    const plan = decideStatefulSet({ set, pods: own, ...revisions, claim, now });
    const lookMs = clock.now() - now;
    const actions = plan.phases.flat(2);
    expectAll(key, actions);
    const { done, failure } = await runPhases({ client, recorder }, { set, ...plan }, signal);
    for (const action of actions) if (!done.has(action)) takeBack(key, action);
    try {
      await writeStatus(set, statusAfter(plan.status, { done, failure, now }));
    } finally {
      await forgetRevisions(set, own, revisions);
    }
    if (failure) throw failure;
    // After a look for nothing only: to rest is to succeed, and a set that fails must come again later each time.
    if (actions.length > 0) rests.delete(key);
    else if (lookMs > 0) rests.set(key, clock.now() + Math.min(longestRestMs, lookMs * restFactor));
    return plan.againAfterMs === undefined ? undefined : { againAfterMs: plan.againAfterMs };
  }

  async function ownPods(set: StatefulSet): Promise<readonly Pod[]> {
    const { namespace = "", uid = "" } = set.metadata;
    const selector = labelSelectorOf(set.spec?.selector) ?? [];
    const isMember = (pod: Pod) => isMemberOf(set, pod) && matchesLabels(selector, pod.metadata.labels);
    const candidates = [uid, orphanedIn(namespace)].flatMap((value) => pods.byIndex("controller", value));
    const claim = decideClaim(set, candidates, isMember);
    return claimObjects({
      client,
      resource: "pods",
      ownerResource: "statefulsets",
      owner: set,
      claim,
      signal,
    });
  }

  function expectAll(key: string, actions: readonly PodAction[]): void {
    const creations = actions.filter(({ kind }) => kind === "createPod").length;
    const deletions = actions.flatMap((action) =>
      action.kind === "deletePod" ? [action.pod.metadata.uid ?? ""] : [],
    );
    if (creations > 0 || deletions.length > 0) expectations.expect(key, { creations, deletions });
  }

  /** What was not done will not be seen. */
  function takeBack(key: string, action: PodAction): void {
    if (action.kind === "createPod") expectations.creationObserved(key);
    if (action.kind === "deletePod") expectations.deletionObserved(key, action.pod.metadata.uid ?? "");
  }

  async function writeStatus(set: StatefulSet, next: StatefulSetStatus): Promise<void> {
    const status = statusToWrite(set, next);
    if (!status) return;
    const changed = { ...set, status };
    written.set(keyOf(set), await client.update("statefulsets", changed, { subresource: "status", signal }));
  }

  async function forgetRevisions(set: StatefulSet, own: readonly Pod[], revisions: Revisions): Promise<void> {
    const names = [revisions.current.name, revisions.update.name];
    for (const { metadata } of revisionsToForget(set, revisions.all, { pods: own, names })) {
      const { namespace, name = "", uid } = metadata;
      try {
        await client.delete("controllerrevisions", { namespace, name }, { preconditions: { uid }, signal });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  return {
    name: "statefulset",
    watch: (queue) => watchStatefulSets({ informers, expectations }, queue),
    reconcile,
  };
}
