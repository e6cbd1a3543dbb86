import { createHash } from "node:crypto";
import type { Pod, StatefulSet } from "../api/meta/objects.ts";
import { StatusError } from "../api/meta/status-error.ts";
import { formatTime } from "../api/meta/time.ts";
import type { Client } from "../client/api/client.ts";

/** Component name in events, and user agent. */
export const component = "kindling-recover";

export type EvictionOutcome =
  | { readonly kind: "evicted" }
  /** The pod changed or was deleted since the decision. */
  | { readonly kind: "changed" }
  /** A PodDisruptionBudget does not allow the eviction now. */
  | { readonly kind: "blocked"; readonly message: string }
  /** The ordinal was evicted before for this update revision and came back in an older one. */
  | { readonly kind: "repeated" };

interface EvictionRequest {
  readonly set: StatefulSet;
  readonly pod: Pod;
  /** Reason of the failure and a sentence about it, for the event. */
  readonly reason: string;
  readonly because: string;
  readonly now: number;
}

type EvictionClient = Pick<Client, "get" | "create" | "patch" | "request">;

/**
 * Evicts a pod, at most once for each ordinal and update revision. The event about the eviction is the record of it: its
 * name is derived from set, update revision and ordinal, and it is created before the eviction. A process that is killed
 * in between finds its own event and evicts the same pod; for another pod of the same ordinal the event is a veto.
 */
export async function evictPod(
  client: EvictionClient,
  { set, pod, reason, because, now }: EvictionRequest,
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  const { name = "", namespace = "default", uid, resourceVersion } = pod.metadata;
  const recorded = await recordOnce(client, { set, pod, reason, because, now }, signal);
  if (recorded !== uid) return { kind: "repeated" };
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name, namespace },
    deleteOptions: { preconditions: { uid, resourceVersion } },
  };
  try {
    await client.request("POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, { body, signal });
    return { kind: "evicted" };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.reason === "NotFound" || error.reason === "Conflict") return { kind: "changed" };
    if (error.reason === "TooManyRequests") return { kind: "blocked", message: error.message };
    throw error;
  }
}

/** Creates the event, or finds the one that exists. Returns the UID of the pod that the event is about. */
async function recordOnce(
  client: EvictionClient,
  { set, pod, reason, because, now }: EvictionRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name = "", namespace = "default", uid, resourceVersion } = pod.metadata;
  const { updateRevision = "" } = set.status ?? {};
  // The number distinguishes a rollback to a revision from an earlier update to it.
  const { revision } = await client.get(
    "controllerrevisions",
    { namespace, name: updateRevision },
    { signal },
  );
  const identity = [set.metadata.uid, updateRevision, revision, name].join("/");
  const eventName = `${name}.${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
  const time = formatTime(now);
  try {
    await client.create(
      "events",
      {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: eventName, namespace },
        involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid, resourceVersion },
        type: "Normal",
        reason: "EvictedToRecover",
        message:
          `Evicting the pod so that StatefulSet ${set.metadata.name} creates it from ${updateRevision} (${reason}): ${because}`.slice(
            0,
            1_024,
          ),
        source: { component },
        reportingComponent: component,
        reportingInstance: "",
        firstTimestamp: time,
        lastTimestamp: time,
        count: 1,
      },
      { signal },
    );
    return uid;
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
    // An empty patch reads the event without the right to get events.
    const existing = await client.patch(
      "events",
      { namespace, name: eventName },
      { patch: { kind: "merge", body: {} }, signal },
    );
    return existing.involvedObject.uid;
  }
}
