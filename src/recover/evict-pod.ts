import { createHash } from "node:crypto";
import type { Pod, StatefulSet } from "../api/meta/objects.ts";
import { StatusError } from "../api/meta/status-error.ts";
import { formatTime } from "../api/meta/time.ts";
import type { Client } from "../client/api/client.ts";
import { ordinalOf } from "../explain/stateful-set-pods.ts";
import { type PlannedEviction, recordEviction, recoverLease } from "./eviction-record.ts";

/** Component name in events, and user agent. */
export const component = "kindling-recover";

export type EvictionOutcome =
  | {
      readonly kind: "evicted";
      /** Problem of the record, which then is only an event and expires. */
      readonly recordProblem?: string;
    }
  /** The pod changed or was deleted since the decision. */
  | { readonly kind: "changed" }
  /** A PodDisruptionBudget does not allow the eviction now, or the record of evictions is full. */
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

type EvictionClient = Pick<Client, "get" | "create" | "update" | "patch" | "request">;

/**
 * Evicts a pod, at most once for each ordinal and update revision. The eviction is recorded on the lease before it is made.
 * A process that is killed in between finds the record and evicts the same pod; for another pod of the same ordinal the
 * record is a veto. The event about the eviction is a second record, for users without access to the lease.
 */
export async function evictPod(
  client: EvictionClient,
  { set, pod, reason, because, now }: EvictionRequest,
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  const { name = "", namespace = "default", uid = "", resourceVersion } = pod.metadata;
  const { updateRevision: revision = "" } = set.status ?? {};
  const { revision: number } = await client.get(
    "controllerrevisions",
    { namespace, name: revision },
    { signal },
  );
  const key = `${namespace}/${set.metadata.name}`;
  const ordinal = ordinalOf(pod);
  const planned = { key, uid: set.metadata.uid ?? "", revision, number, ordinal, podUid: uid };
  const outcome = await recordIfAllowed(client, planned, signal);
  if (outcome.kind === "repeated") return outcome;
  if (outcome.kind === "outdated") return { kind: "changed" };
  if (outcome.kind === "full") {
    const lease = `${recoverLease.namespace}/${recoverLease.name}`;
    return { kind: "blocked", message: `the record of evictions on lease ${lease} is full` };
  }
  const identity = [planned.uid, revision, number, name].join("/");
  const recorded = await recordEvent(client, { set, pod, reason, because, now, identity }, signal);
  if (recorded !== uid) return { kind: "repeated" };
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name, namespace },
    deleteOptions: { preconditions: { uid, resourceVersion } },
  };
  try {
    await client.request("POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, { body, signal });
    return { kind: "evicted", ...(outcome.kind === "forbidden" && { recordProblem: outcome.message }) };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.reason === "NotFound" || error.reason === "Conflict") return { kind: "changed" };
    if (error.reason === "TooManyRequests") return { kind: "blocked", message: error.message };
    throw error;
  }
}

/** Records the eviction on the lease, unless this user may not read or write it. */
async function recordIfAllowed(client: EvictionClient, planned: PlannedEviction, signal: AbortSignal) {
  try {
    return await recordEviction(client, planned, signal);
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== "Forbidden") throw error;
    return { kind: "forbidden", message: error.message } as const;
  }
}

/** Creates the event, or finds the one that exists. Returns the UID of the pod that the event is about. */
async function recordEvent(
  client: EvictionClient,
  { set, pod, reason, because, now, identity }: EvictionRequest & { readonly identity: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name = "", namespace = "default", uid, resourceVersion } = pod.metadata;
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
          `Evicting the pod so that StatefulSet ${set.metadata.name} creates it from ${set.status?.updateRevision} (${reason}): ${because}`.slice(
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
