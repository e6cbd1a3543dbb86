import { controllerOf } from "../../api/meta/object-facts.ts";
import type { Deployment, ReplicaSet } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Change } from "../../client/informers/informer.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import {
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
} from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim, ownerOf, selects } from "../shared/ownership.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { type DeploymentPlan, decideDeployment } from "./decide-deployment.ts";
import { hasDeadline, withFinding } from "./decide-status.ts";
import { hasTemplateOf, sizeOf } from "./replica-sets.ts";

/** Runs the Deployment controller until the signal aborts. */
export function runDeploymentController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("deployment-controller");
  const deployments = informers.of("deployments");
  const sets = informers.of("replicasets");
  const pods = informers.of("pods");

  function watch(queue: Pick<WorkQueue, "add">): void {
    deployments.onChange(({ object }) => queue.add(keyOf(object)));
    sets.onChange((change) => {
      for (const set of affectedSets(change)) {
        for (const deployment of deploymentsOf(set)) queue.add(keyOf(deployment));
      }
    });
    pods.onChange(({ kind, object }) => {
      if (kind !== "deleted") return;
      // Recreate waits for the last old pod.
      const set = ownerOf(object, "ReplicaSet", sets);
      const deployment = set && ownerOf(set, "Deployment", deployments);
      if (deployment?.spec?.strategy?.type === "Recreate") queue.add(keyOf(deployment));
    });
  }

  function deploymentsOf(set: ReplicaSet): readonly Deployment[] {
    if (controllerOf(set)) {
      const owner = ownerOf(set, "Deployment", deployments);
      return owner ? [owner] : [];
    }
    const { namespace = "" } = set.metadata;
    return deployments.byIndex("namespace", namespace).filter((deployment) => selects(deployment, set));
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const deployment = deployments.get(key);
    if (!deployment) return undefined;
    try {
      const own = await ownSets(deployment);
      const now = clock.now();
      const podsOf = ({ metadata }: ReplicaSet) => pods.byIndex("controller", metadata.uid ?? "");
      const plan = decideDeployment({ deployment, sets: own, podsOf, now });
      await runPlan({ client, recorder }, { deployment, plan, now }, signal);
      return plan.requeueAfterMs === undefined ? undefined : { requeueAfterMs: plan.requeueAfterMs };
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  async function ownSets(deployment: Deployment): Promise<readonly ReplicaSet[]> {
    const { namespace = "", uid = "" } = deployment.metadata;
    const orphans = sets.byIndex("controller", orphanedIn(namespace));
    const candidates = [...sets.byIndex("controller", uid), ...orphans];
    return claimObjects({
      client,
      resource: "replicasets",
      ownerResource: "deployments",
      owner: deployment,
      claim: decideClaim(deployment, candidates, (set) => selects(deployment, set)),
      signal,
    });
  }

  return runController(context, { name: "deployment", watch, reconcile }, signal);
}

/** A changed owner affects the previous owner too. */
function affectedSets(change: Change<ReplicaSet>): readonly ReplicaSet[] {
  if (change.kind !== "changed") return [change.object];
  const ownerChanged = controllerOf(change.previous)?.uid !== controllerOf(change.object)?.uid;
  return ownerChanged ? [change.previous, change.object] : [change.object];
}

interface Deps {
  readonly client: Pick<Client, "create" | "update" | "delete" | "get">;
  readonly recorder: EventRecorder;
}

interface Running {
  readonly deployment: Deployment;
  readonly plan: DeploymentPlan;
  readonly now: number;
}

/** Writes the ReplicaSets before the Deployment's status: after an interruption the next sync writes the status. */
async function runPlan(deps: Deps, running: Running, signal: AbortSignal): Promise<void> {
  const { client } = deps;
  const { deployment, plan } = running;
  if (plan.create && !(await createSet(deps, { ...running, set: plan.create }, signal))) return;
  for (const { before, after } of plan.updates) {
    await client.update("replicasets", after, { signal });
    recordScaling(deps, deployment, { name: after.metadata.name, from: sizeOf(before), to: sizeOf(after) });
  }
  for (const { metadata } of plan.deletions) {
    const { namespace, name = "", uid } = metadata;
    try {
      await client.delete("replicasets", { namespace, name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  if (plan.deployment) await client.update("deployments", plan.deployment, { subresource: "status", signal });
}

/** Returns whether the rest of the plan can be carried out. */
async function createSet(
  deps: Deps,
  { deployment, set, now }: Running & { readonly set: ReplicaSet },
  signal: AbortSignal,
): Promise<boolean> {
  const { client, recorder } = deps;
  try {
    await client.create("replicasets", set, { signal });
  } catch (error) {
    if (isNamespaceTerminating(error)) return false;
    if (isAlreadyExists(error)) {
      await resolveCollision(client, { deployment, set }, signal);
      return false;
    }
    const reason = "ReplicaSetCreateError";
    const message = `Failed to create new replica set "${set.metadata.name}": ${messageOf(error)}`;
    recorder.record(deployment, { type: "Warning", reason, message });
    if (hasDeadline(deployment)) {
      const { status = {} } = deployment;
      const finding = { type: "Progressing", status: "False", reason, message } as const;
      const conditions = withFinding(status.conditions ?? [], finding, now);
      const failed = { ...deployment, status: { ...status, conditions } };
      // A failure to write the condition must not hide the original error.
      await client.update("deployments", failed, { subresource: "status", signal }).catch(() => {});
    }
    throw error;
  }
  recordScaling(deps, deployment, { name: set.metadata.name, from: 0, to: sizeOf(set) });
  return true;
}

/** The ReplicaSet exists but is not in the cache yet, or two templates share a hash: then collisionCount is raised. */
async function resolveCollision(
  client: Deps["client"],
  { deployment, set }: { readonly deployment: Deployment; readonly set: ReplicaSet },
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name = "" } = set.metadata;
  const existing = await client.get("replicasets", { namespace, name }, { signal });
  const isOurs = controllerOf(existing)?.uid === deployment.metadata.uid;
  if (isOurs && hasTemplateOf(deployment, existing)) return;
  const { status = {} } = deployment;
  const counted = { ...status, collisionCount: (status.collisionCount ?? 0) + 1 };
  await client.update("deployments", { ...deployment, status: counted }, { subresource: "status", signal });
}

interface Scaling {
  readonly name: string | undefined;
  readonly from: number;
  readonly to: number;
}

function recordScaling({ recorder }: Deps, deployment: Deployment, { name, from, to }: Scaling): void {
  if (from === to) return;
  const message = `Scaled ${from < to ? "up" : "down"} replica set ${name} from ${from} to ${to}`;
  recorder.record(deployment, { type: "Normal", reason: "ScalingReplicaSet", message });
}
