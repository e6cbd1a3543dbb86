import { controllerOf } from "../../api/controller-reference.ts";
import type { Deployment, ReplicaSet } from "../../api/objects.ts";
import type { Change } from "../../client/informer.ts";
import { keyOf } from "../../client/object-key.ts";
import { isConflict } from "../../client/status-errors.ts";
import type { WorkQueue } from "../../client/work-queue.ts";
import { claimObjects, decideClaim } from "../claim-objects.ts";
import { orphanedIn } from "../informers.ts";
import { ownerOf } from "../owner-of.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { selects } from "../selects.ts";
import { decideDeployment } from "./decide-deployment.ts";
import { runPlan } from "./run-plan.ts";

/** Rolls Deployments out, until the signal aborts. */
export function runDeploymentController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("deployment-controller");
  const deployments = informers.of("deployments");
  const sets = informers.of("replicasets");
  const pods = informers.of("pods");

  function watch(queue: Pick<WorkQueue, "add">): void {
    deployments.onChange(({ object }) => queue.add(keyOf(object)));
    sets.onChange((change) => {
      for (const set of concerned(change)) {
        for (const deployment of deploymentsOf(set)) queue.add(keyOf(deployment));
      }
    });
    pods.onChange(({ kind, object }) => {
      if (kind !== "deleted") return;
      // One that is recreated waits for the last of its old pods.
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
      return plan.againAfterMs === undefined ? undefined : { againAfterMs: plan.againAfterMs };
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

/** A set that changes hands concerns the one that had it, too. */
function concerned(change: Change<ReplicaSet>): readonly ReplicaSet[] {
  if (change.kind !== "changed") return [change.object];
  const changesHands = controllerOf(change.previous)?.uid !== controllerOf(change.object)?.uid;
  return changesHands ? [change.previous, change.object] : [change.object];
}
