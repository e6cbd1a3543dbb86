// Clauses: 3541-8, 3541-9
import type { Features } from "../../api/meta/feature-gates.ts";
import { newerCopy } from "../../api/meta/object-facts.ts";
import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../api/meta/selector.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import { createExpectations } from "../../client/queue/expectations.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import { progressDeadlineOf, unstickPolicyOf } from "../../explain/rollout-policy.ts";
import { orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim } from "../shared/ownership.ts";
import {
  type ControllerContext,
  type ControllerOptions,
  type Reconciled,
  runController,
} from "../shared/run-controller.ts";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { isMemberOf } from "./pod-identity.ts";
import { withProgressRecord } from "./rollout-progress.ts";
import { runPhases } from "./run-phases.ts";
import type { PodAction, ProgressRecord } from "./stateful-set-facts.ts";
import { measureStatefulSets } from "./stateful-set-metrics.ts";
import { ensureRevisions, type Revisions, revisionsToForget } from "./stateful-set-revisions.ts";
import {
  countPods,
  type StatefulSetStatus,
  statusAfter,
  statusToWrite,
  withProgress,
} from "./stateful-set-status.ts";
import { watchStatefulSets } from "./watch-stateful-sets.ts";

/** Requeue delay while writes of the previous sync are not observed. */
const unobservedRequeueMs = 300_000;

/**
 * A sync over thousands of pods takes long, and they may change hundreds of times per second. After a sync without
 * actions, the set is throttled for a multiple of its duration, so that other controllers of this process can run. The
 * delay is negligible for small sets.
 */
const throttleFactor = 8;
const maxThrottleMs = 1_000;

/** Runs the StatefulSet controller until the signal aborts. */
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
  /** Last written version by key, which the informer may not have observed yet. */
  const written = new Map<string, StatefulSet>();

  /** Time until which sets are throttled, by key. */
  const throttledUntil = new Map<string, number>();

  /** Messages about the invalid annotations of sets that events have reported, by key. */
  const reported = new Map<string, readonly string[]>();

  async function reconcile(key: string): Promise<Reconciled> {
    const seen = sets.get(key);
    if (!seen) {
      expectations.forget(key);
      written.delete(key);
      throttledUntil.delete(key);
      reported.delete(key);
      return undefined;
    }
    const throttleMs = (throttledUntil.get(key) ?? 0) - clock.now();
    // A longer delay means that the clock was set back.
    if (throttleMs > 0 && throttleMs <= maxThrottleMs) return { requeueAfterMs: throttleMs };
    const set = newerCopy(seen, written.get(key));
    if (set === seen) written.delete(key);
    reportInvalidAnnotations(key, set);
    const unsupported = unsupportedStrategy(set, features);
    if (unsupported) return reportUnsupported(set, unsupported);
    if (!expectations.satisfied(key)) {
      countSkip?.();
      return { requeueAfterMs: unobservedRequeueMs };
    }
    return reconcileReplicas(key, set);
  }

  /** Records an event for each invalid annotation, once for each value. */
  function reportInvalidAnnotations(key: string, set: StatefulSet): void {
    const invalid = [unstickPolicyOf(set).invalid, progressDeadlineOf(set).invalid].filter(
      (problem) => problem !== undefined,
    );
    const before = reported.get(key) ?? [];
    for (const { reason, message } of invalid)
      if (!before.includes(message)) recorder.record(set, { type: "Warning", reason, message });
    reported.set(
      key,
      invalid.map(({ message }) => message),
    );
  }

  /** Keeps the status of a set current whose strategy is not supported. Its pods are not changed. */
  async function reportUnsupported(set: StatefulSet, message: string): Promise<undefined> {
    const reason = "UnknownStrategy";
    const known = set.status?.conditions?.some((old) => old.reason === reason && old.message === message);
    if (!known) recorder.record(set, { type: "Warning", reason, message });
    const revisions = await ensureRevisions({ client, informers }, set, signal);
    const now = clock.now();
    const own = pods.byIndex("controller", set.metadata.uid ?? "").filter((pod) => isMemberOf(set, pod));
    const counted = countPods({ set, pods: own, ...revisions, now });
    const condition = { type: "Progressing", status: "False", reason, message };
    await writeStatus(set, withProgress(counted, { condition, complete: false, now }), undefined);
  }

  async function reconcileReplicas(key: string, seen: StatefulSet): Promise<Reconciled> {
    const revisions = await ensureRevisions({ client, informers }, seen, signal);
    const own = await ownPods(seen);
    const now = clock.now();
    const claim = (name: string) => claims.get(`${seen.metadata.namespace}/${name}`);
    const plan = decideStatefulSet({ set: seen, pods: own, ...revisions, claim, now });
    const decisionMs = clock.now() - now;
    const set = plan.recorded ? await write(plan.recorded) : seen;
    const actions = plan.phases.flat(2);
    expectAll(key, actions);
    const { done, failure } = await runPhases({ client, recorder }, { set, ...plan }, signal);
    for (const action of actions) if (!done.has(action)) dropExpectation(key, action);
    try {
      await writeStatus(set, statusAfter(plan.status, { done, failure, now }), plan.progress);
    } finally {
      await deleteOldRevisions(set, own, revisions);
    }
    if (failure) throw failure;
    // Only after a sync without actions: a throttled set counts as successful, which would reset the back-off of a failing one.
    if (actions.length > 0) throttledUntil.delete(key);
    else if (decisionMs > 0)
      throttledUntil.set(key, clock.now() + Math.min(maxThrottleMs, decisionMs * throttleFactor));
    return plan.requeueAfterMs === undefined ? undefined : { requeueAfterMs: plan.requeueAfterMs };
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

  /** Drops the expectation of an action that was not carried out. */
  function dropExpectation(key: string, action: PodAction): void {
    if (action.kind === "createPod") expectations.creationObserved(key);
    if (action.kind === "deletePod") expectations.deletionObserved(key, action.pod.metadata.uid ?? "");
  }

  async function writeStatus(
    set: StatefulSet,
    next: StatefulSetStatus,
    progress: ProgressRecord | undefined,
  ): Promise<void> {
    const status = statusToWrite(set, next);
    const annotated = withProgressRecord(set, progress);
    if (!status && !annotated) return;
    await write({ ...(annotated ?? set), ...(status && { status }) });
  }

  /** Writes status and annotations. `/status` of a built-in kind accepts metadata, and the role allows no more. */
  async function write(changed: StatefulSet): Promise<StatefulSet> {
    const result = await client.update("statefulsets", changed, { subresource: "status", signal });
    written.set(keyOf(changed), result);
    return result;
  }

  async function deleteOldRevisions(
    set: StatefulSet,
    own: readonly Pod[],
    revisions: Revisions,
  ): Promise<void> {
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

const gates = {
  EnforcedRollingUpdate: "EnforcedRollingUpdateInStatefulSet",
  Recreate: "StatefulSetRecreateStrategy",
} as const satisfies Record<string, keyof Features>;

/** Why a set is not reconciled: its strategy is disabled by a feature gate, or unknown. Undefined if it is supported. */
export function unsupportedStrategy({ metadata, spec }: StatefulSet, features: Features): string | undefined {
  const { type = "RollingUpdate" } = spec?.updateStrategy ?? {};
  const set = `statefulset ${metadata.namespace}/${metadata.name}`;
  switch (type) {
    case "RollingUpdate":
    case "OnDelete":
      return undefined;
    case "EnforcedRollingUpdate":
    case "Recreate": {
      const gate = gates[type];
      return features[gate] ? undefined : `${set} uses ${type} strategy but feature gate ${gate} is disabled`;
    }
    default:
      return `${set} uses ${type} strategy, which this controller does not know`;
  }
}
