// Clauses: 3541-8
import type { PersistentVolumeClaim, Pod, StatefulSet } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { slowStart } from "../shared/slow-start.ts";
import type { PodAction, PodActions, StatefulSetPlan } from "./stateful-set-facts.ts";

export interface ActDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
}

/**
 * Recorders limit the events per object. Normal events beyond this limit would only increase the count of an aggregated
 * event, and would exhaust the limit for later warnings.
 */
const maxNormalEvents = 10;

function limitNormalEvents(recorder: EventRecorder): EventRecorder {
  let normalEvents = 0;
  return {
    record(about, event) {
      if (event.type === "Normal" && ++normalEvents > maxNormalEvents) return;
      recorder.record(about, event);
    },
  };
}

/** Carries out the phases of a plan. Returns the completed actions and the failure that ended it. */
export async function runPhases(
  { client, recorder }: ActDeps,
  { set, phases, burst }: Pick<StatefulSetPlan, "phases" | "burst"> & { readonly set: StatefulSet },
  signal: AbortSignal,
): Promise<{ readonly done: ReadonlySet<PodAction>; readonly failure?: unknown }> {
  const deps = { client, recorder: limitNormalEvents(recorder) };
  const done = new Set<PodAction>();
  const runPod = async (actions: PodActions) => {
    for (const action of actions) {
      await act(deps, { set, action, signal });
      done.add(action);
    }
  };
  try {
    for (const pods of phases) await (burst ? slowStart(pods, runPod) : oneByOne(pods, runPod));
    return { done };
  } catch (failure) {
    return { done, failure };
  }
}

async function oneByOne<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (const item of items) await run(item);
}

interface Acting<Action> {
  readonly set: StatefulSet;
  readonly action: Action;
  readonly signal: AbortSignal;
}

type Of<Kind extends PodAction["kind"]> = Acting<Extract<PodAction, { kind: Kind }>>;

async function act(deps: ActDeps, { set, action, signal }: Acting<PodAction>): Promise<void> {
  switch (action.kind) {
    case "createClaim":
      return createClaim(deps, { set, action, signal });
    case "ownClaim":
      return ownClaim(deps, { set, action, signal });
    case "createPod":
      return createPod(deps, { set, action, signal });
    case "correctPod":
      return withEvent(deps, { verb: "Update", set, pod: action.pod }, async () => {
        await deps.client.update("pods", action.pod, { signal });
      });
    case "deletePod":
      return deletePod(deps, { set, action, signal });
    case "fail":
      return withEvent(
        deps,
        { verb: action.verb === "create" ? "Create" : "Update", set, pod: action.pod },
        async () => {
          throw new Error(action.message);
        },
      );
    case "warn":
      return deps.recorder.record(set, { type: "Warning", reason: action.reason, message: action.message });
  }
}

async function createClaim({ client, recorder }: ActDeps, { set, action, signal }: Of<"createClaim">) {
  const { pod, claim } = action;
  const subject = `Create Claim ${claim.metadata.name}`;
  const place = `Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
  try {
    await client.create("persistentvolumeclaims", claim, { signal });
  } catch (error) {
    // Created concurrently, or not in the cache yet: the next sync decides with the existing claim.
    if (!isAlreadyExists(error)) {
      const message = `${subject} for ${place} failed error: ${messageOf(error)}`;
      recorder.record(set, { type: "Warning", reason: "FailedCreate", message });
    }
    throw new Error(`failed to create PVC ${claim.metadata.name}: ${messageOf(error)}`, { cause: error });
  }
  recorder.record(set, {
    type: "Normal",
    reason: "SuccessfulCreate",
    message: `${subject} ${place} success`,
  });
}

async function ownClaim(deps: ActDeps, { set, action, signal }: Of<"ownClaim">): Promise<void> {
  const { pod, claim, owners } = action;
  const next: PersistentVolumeClaim = { ...claim, metadata: { ...claim.metadata, ownerReferences: owners } };
  try {
    await deps.client.update("persistentvolumeclaims", next, { signal });
  } catch (error) {
    const text = `could not update claim ${claim.metadata.name} for delete policy ownerRefs: ${messageOf(error)}`;
    if (!isConflict(error)) recordPodEvent(deps, { verb: "Update", set, pod, failure: text });
    throw new Error(text, { cause: error });
  }
}

async function createPod(deps: ActDeps, { set, action, signal }: Of<"createPod">): Promise<void> {
  const { pod } = action;
  try {
    await deps.client.create("pods", pod, { signal });
  } catch (error) {
    // Another pod has this name, or the own one is not in the cache yet: it must not be created twice.
    if (!isAlreadyExists(error)) {
      recordPodEvent(deps, { verb: "Create", set, pod, failure: messageOf(error) });
    }
    throw error;
  }
  recordPodEvent(deps, { verb: "Create", set, pod });
}

async function deletePod(deps: ActDeps, { set, action, signal }: Of<"deletePod">): Promise<void> {
  const { pod } = action;
  const { namespace, name = "", uid } = pod.metadata;
  try {
    // The uid protects another pod that has taken this name.
    await deps.client.delete("pods", { namespace, name }, { preconditions: { uid }, signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) {
      recordPodEvent(deps, { verb: "Delete", set, pod, failure: messageOf(error) });
      throw error;
    }
  }
  recordPodEvent(deps, { verb: "Delete", set, pod });
}

interface PodEvent {
  readonly verb: "Create" | "Update" | "Delete";
  readonly set: StatefulSet;
  readonly pod: Pod;
  readonly failure?: string;
}

async function withEvent(deps: ActDeps, event: PodEvent, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    recordPodEvent(deps, { ...event, failure: messageOf(error) });
    throw error;
  }
  recordPodEvent(deps, event);
}

function recordPodEvent({ recorder }: ActDeps, { verb, set, pod, failure }: PodEvent): void {
  const what = `${verb} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
  recorder.record(
    set,
    failure === undefined
      ? { type: "Normal", reason: `Successful${verb}`, message: `${what} successful` }
      : { type: "Warning", reason: `Failed${verb}`, message: `${what} failed error: ${failure}` },
  );
}
