import { controllerOf } from "../../api/controller-reference.ts";
import type { Deployment, ReplicaSet } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from "../../client/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { withFinding } from "./conditions.ts";
import type { DeploymentPlan } from "./decide-deployment.ts";
import { hasDeadline } from "./decide-status.ts";
import { hasTemplateOf } from "./replica-set-of.ts";
import { sizeOf } from "./replica-set-size.ts";

interface Deps {
  readonly client: Pick<Client, "create" | "update" | "delete" | "get">;
  readonly recorder: EventRecorder;
}

interface Running {
  readonly deployment: Deployment;
  readonly plan: DeploymentPlan;
  readonly now: number;
}

/** The sets first, then what the Deployment says of them: stopped between the two, the next look says it. */
export async function runPlan(deps: Deps, running: Running, signal: AbortSignal): Promise<void> {
  const { client } = deps;
  const { deployment, plan } = running;
  if (plan.create && !(await createSet(deps, { ...running, set: plan.create }, signal))) return;
  for (const { before, after } of plan.updates) {
    await client.update("replicasets", after, { signal });
    sayScaled(deps, deployment, { name: after.metadata.name, from: sizeOf(before), to: sizeOf(after) });
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

/** Whether the plan can go on. */
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
      // That the set cannot be made is what matters, and is what the caller hears.
      await client.update("deployments", failed, { subresource: "status", signal }).catch(() => {});
    }
    throw error;
  }
  sayScaled(deps, deployment, { name: set.metadata.name, from: 0, to: sizeOf(set) });
  return true;
}

/** Either it was made already and is yet to be seen here, or two templates have one hash: then a new one is counted. */
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

function sayScaled({ recorder }: Deps, deployment: Deployment, { name, from, to }: Scaling): void {
  if (from === to) return;
  const message = `Scaled ${from < to ? "up" : "down"} replica set ${name} from ${from} to ${to}`;
  recorder.record(deployment, { type: "Normal", reason: "ScalingReplicaSet", message });
}
