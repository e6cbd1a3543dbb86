import { isEqual } from "../../api/meta/is-equal.ts";
import { controllerOf, newerCopy } from "../../api/meta/object-facts.ts";
import type { DaemonSet, Node, Pod } from "../../api/meta/objects.ts";
import { isTerminating } from "../../api/pod/pod-state.ts";
import type { Change } from "../../client/informers/informer.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import { createExpectations } from "../../client/queue/expectations.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isConflict } from "../../client/transport/status-errors.ts";
import { changePods } from "../shared/change-pods.ts";
import { orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim, ownerOf, selects } from "../shared/ownership.ts";
import {
  type ControllerContext,
  type ControllerOptions,
  type Reconciled,
  runController,
} from "../shared/run-controller.ts";
import { newDaemonPod, placementOf } from "./daemon-pod.ts";
import { type DaemonSetFacts, observeDaemonSet } from "./daemon-set-facts.ts";
import { deleteRevisions, ensureRevision, revisionsToForget } from "./daemon-set-revisions.ts";
import { decidePods } from "./decide-pods.ts";
import { type DaemonSetStatus, decideStatus } from "./decide-status.ts";
import type { BackOffs } from "./failed-pod-back-off.ts";

const staleSkips = {
  name: "daemonset_controller_stale_sync_skips_total",
  help: "Total number of DaemonSet syncs that changed no pods because earlier writes were not observed yet",
};

/** Runs the DaemonSet controller until the signal aborts. */
export function runDaemonSetController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  return runController(context, { name: "daemonset", ...daemonSetController(context, signal) }, signal);
}

/** What the controller remembers of a set. */
interface Memory {
  readonly uid: string;
  /** Last written version, which the informer may not have delivered yet. */
  set: DaemonSet;
  /** Back-offs of failed pods, for one observed generation. */
  backOffs: BackOffs;
  backOffsOf: number | undefined;
}

function daemonSetController(
  context: ControllerContext,
  signal: AbortSignal,
): Pick<ControllerOptions, "watch" | "reconcile"> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("daemonset-controller");
  const sets = informers.of("daemonsets");
  const pods = informers.of("pods");
  const nodes = informers.of("nodes");
  const revisions = informers.of("controllerrevisions");
  const expectations = createExpectations({ clock });
  const skips = context.metrics?.counter(staleSkips, { group: "", resource: "pods" });
  const memories = new Map<string, Memory>();

  function watch(queue: Pick<WorkQueue, "add">): void {
    sets.onChange(({ kind, object }) => {
      if (kind === "deleted") forget(keyOf(object));
      queue.add(keyOf(object));
    });
    pods.onChange((change) => {
      for (const pod of affectedPods(change)) {
        for (const set of setsOf(pod)) {
          observe(keyOf(set), change);
          queue.add(keyOf(set));
        }
      }
    });
    nodes.onChange((change) => {
      if (!isPlacementChange(change)) return;
      for (const set of sets.list()) if (isAffected(set, change)) queue.add(keyOf(set));
    });
  }

  function forget(key: string): void {
    memories.delete(key);
    expectations.forget(key);
  }

  function setsOf(pod: Pod): readonly DaemonSet[] {
    if (controllerOf(pod)) {
      const owner = ownerOf(pod, "DaemonSet", sets);
      return owner ? [owner] : [];
    }
    return sets.byIndex("namespace", pod.metadata.namespace ?? "").filter((set) => selects(set, pod));
  }

  function observe(key: string, { kind, object }: Change<Pod>): void {
    if (kind === "deleted" || isTerminating(object))
      expectations.deletionObserved(key, object.metadata.uid ?? "");
    if (kind === "added" && controllerOf(object)) expectations.creationObserved(key);
  }

  function memoryOf(key: string, cached: DaemonSet): Memory {
    const { uid = "" } = cached.metadata;
    const known = memories.get(key);
    if (known?.uid === uid) {
      known.set = newerCopy(cached, known.set);
      return known;
    }
    const memory: Memory = { uid, set: cached, backOffs: new Map(), backOffsOf: undefined };
    memories.set(key, memory);
    return memory;
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const cached = sets.get(key);
    if (!cached) {
      forget(key);
      return undefined;
    }
    const memory = memoryOf(key, cached);
    const { set } = memory;
    // The garbage collector may delete revisions before pods, so that the status cannot be computed.
    if (set.metadata.deletionTimestamp) return undefined;
    // Read before the pods, which may change while revisions are written.
    const isCacheCurrent = expectations.satisfied(key);
    const own = await ownPods(set);
    const { hash, old, collisionCount } = await ensureRevision(
      { client, revisions },
      { set, pods: own },
      signal,
    );
    const facts = observeDaemonSet({ set, hash, nodes: nodes.list(), pods: own, now: clock.now() });
    const { status, requeueAfterMs } = decideStatus(facts, { isSynced: isCacheCurrent, collisionCount });
    const waits = requeueAfterMs === undefined ? [] : [requeueAfterMs];
    try {
      if (isCacheCurrent) {
        waits.push(...(await actOnPods(memory, facts)));
        await deleteRevisions(client, revisionsToForget(set, old, own), signal);
      } else skips?.add();
    } finally {
      if (status) await writeStatus(memory, status);
    }
    return waits.length > 0 ? { requeueAfterMs: Math.min(...waits) } : undefined;
  }

  /** Returns the time after which a failed pod can be deleted, if there is one. */
  async function actOnPods(memory: Memory, facts: DaemonSetFacts): Promise<readonly number[]> {
    const { set, hash } = facts;
    const { observedGeneration } = set.status ?? {};
    if (memory.backOffsOf !== observedGeneration) {
      memory.backOffs = new Map();
      memory.backOffsOf = observedGeneration;
    }
    const plan = decidePods(facts, memory.backOffs);
    memory.backOffs = plan.backOffs;
    for (const event of plan.events) recorder.record(set, event);
    const create = plan.createOn.map((node) => newDaemonPod(set, { node, hash }));
    if (create.length > 0 || plan.delete.length > 0) {
      const change = { owner: set, create, delete: plan.delete };
      await changePods({ client, recorder, expectations }, change, signal);
    }
    return plan.requeueAfterMs === undefined ? [] : [plan.requeueAfterMs];
  }

  async function ownPods(set: DaemonSet): Promise<readonly Pod[]> {
    const { namespace = "", uid = "" } = set.metadata;
    const candidates = [uid, orphanedIn(namespace)].flatMap((value) => pods.byIndex("controller", value));
    const claim = decideClaim(set, candidates, (pod) => selects(set, pod));
    return claimObjects({
      client,
      resource: "pods",
      ownerResource: "daemonsets",
      owner: set,
      claim,
      signal,
    });
  }

  async function writeStatus(memory: Memory, status: DaemonSetStatus): Promise<void> {
    try {
      const next = { ...memory.set, status };
      memory.set = await client.update("daemonsets", next, { subresource: "status", signal });
    } catch (error) {
      // The informer will deliver the newer version.
      if (!isConflict(error)) throw error;
    }
  }

  return { watch, reconcile };
}

/** A changed owner affects the previous owner too. */
function affectedPods(change: Change<Pod>): readonly Pod[] {
  if (change.kind !== "changed") return [change.object];
  const ownerChanged = controllerOf(change.previous)?.uid !== controllerOf(change.object)?.uid;
  return ownerChanged ? [change.previous, change.object] : [change.object];
}

/** Heartbeats of nodes do not affect placement. */
function isPlacementChange(change: Change<Node>): boolean {
  if (change.kind !== "changed") return true;
  const { previous, object } = change;
  const isSame =
    isEqual(previous.metadata.labels, object.metadata.labels) &&
    isEqual(previous.spec?.taints, object.spec?.taints);
  return !isSame;
}

function isAffected(set: DaemonSet, change: Change<Node>): boolean {
  const place = placementOf(set);
  if (change.kind !== "changed") return place(change.object) === "run";
  return place(change.previous) !== place(change.object);
}
