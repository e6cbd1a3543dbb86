import { isReady } from "../../api/meta/object-facts.ts";
import type { Event, KubeObject, Node, Pod, ReplicaSet } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { isKindlingVersion } from "../../api/meta/version.ts";
import type {
  Client,
  ListOptions,
  ObjectKey,
  ObjectTypes,
  ResourceName,
  Selection,
} from "../../client/api/client.ts";
import type { CronJobFacts } from "../../explain/explain-cron-job.ts";
import type { DaemonSetFacts } from "../../explain/explain-daemon-set.ts";
import type { JobFacts } from "../../explain/explain-job.ts";
import type { DeploymentFacts, ReplicaSetFacts } from "../../explain/explain-replicas.ts";
import type { Platform, StatefulSetFacts } from "../../explain/explain-stateful-set.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import type { GatherDeps } from "./gather-facts.ts";

/** Facts of a workload. `unreadable` names what the caller has no permission to read, in the plural: `events`. */
type Facts<T> = Omit<T, "now" | "platform"> & { readonly unreadable: readonly string[] };

/** Reads a StatefulSet, the pods that it controls and its events. Throws if the StatefulSet does not exist. */
export async function gatherSet(
  client: Client,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<Facts<StatefulSetFacts>> {
  const set = await client.get("statefulsets", key, { signal });
  const [pods, events] = await Promise.all([
    listOwned(client, set, signal),
    listEvents(client, { ...key, kind: "StatefulSet" }, signal),
  ]);
  return { set, pods, events, unreadable: unreadableOf([events]) };
}

/** Reads a ReplicaSet, the pods that it controls and its events. Throws if the ReplicaSet does not exist. */
export async function gatherReplicaSet(
  client: Client,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<Facts<ReplicaSetFacts>> {
  const replicaSet = await client.get("replicasets", key, { signal });
  const [pods, events] = await Promise.all([
    listOwned(client, replicaSet, signal),
    listEvents(client, { ...key, kind: "ReplicaSet" }, signal),
  ]);
  return { replicaSet, pods, events, unreadable: unreadableOf([events]) };
}

/** Reads a DaemonSet, the pods that it controls and its events. Throws if the DaemonSet does not exist. */
export async function gatherDaemonSet(
  client: Client,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<Facts<DaemonSetFacts>> {
  const daemonSet = await client.get("daemonsets", key, { signal });
  const [pods, events] = await Promise.all([
    listOwned(client, daemonSet, signal),
    listEvents(client, { ...key, kind: "DaemonSet" }, signal),
  ]);
  return { daemonSet, pods, events, unreadable: unreadableOf([events]) };
}

/** Reads a Job, the pods that it controls and its events. Throws if the Job does not exist. */
export async function gatherJob(
  client: Client,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<Facts<JobFacts>> {
  const job = await client.get("jobs", key, { signal });
  const [pods, events] = await Promise.all([
    listOwned(client, job, signal),
    listEvents(client, { ...key, kind: "Job" }, signal),
  ]);
  return { job, pods, events, unreadable: unreadableOf([events]) };
}

/** Reads a CronJob, its last Job and its events. Throws if the CronJob does not exist. */
export async function gatherCronJob(
  client: Client,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<Facts<CronJobFacts>> {
  const { namespace } = key;
  const cronJob = await client.get("cronjobs", key, { signal });
  const [{ items }, events] = await Promise.all([
    client.list("jobs", { namespace, signal }),
    listEvents(client, { ...key, kind: "CronJob" }, signal),
  ]);
  const createdAt = ({ metadata }: KubeObject) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  const last = items
    .filter((job) => isOwnedBy(job, cronJob))
    .toSorted((a, b) => createdAt(b) - createdAt(a))[0];
  const lastJob = last && (await gatherJob(client, { namespace, name: last.metadata.name ?? "" }, signal));
  return { cronJob, lastJob, events, unreadable: unreadableOf([events]) };
}

/** Reads a Deployment with its ReplicaSets, their pods and events. Throws if the Deployment does not exist. */
export async function gatherDeployment(
  client: Client,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<Facts<DeploymentFacts>> {
  const { namespace } = key;
  const deployment = await client.get("deployments", key, { signal });
  const { items } = await client.list("replicasets", { namespace, signal });
  const sets = items.filter((each) => isOwnedBy(each, deployment));
  const { items: pods } = await client.list("pods", { namespace, signal });
  const replicaSets = await Promise.all(
    sets.filter(hasReplicas).map(async (replicaSet) => ({
      replicaSet,
      pods: pods.filter((pod) => isOwnedBy(pod, replicaSet)),
      events: await listEvents(
        client,
        { namespace, name: replicaSet.metadata.name ?? "", kind: "ReplicaSet" },
        signal,
      ),
    })),
  );
  return { deployment, replicaSets, unreadable: unreadableOf(replicaSets.map(({ events }) => events)) };
}

function hasReplicas({ spec, status }: ReplicaSet): boolean {
  return (spec?.replicas ?? 1) > 0 || (status?.replicas ?? 0) > 0;
}

async function listOwned(client: Client, owner: KubeObject, signal: AbortSignal): Promise<readonly Pod[]> {
  const { items } = await client.list("pods", { namespace: owner.metadata.namespace, signal });
  return items.filter((pod) => isOwnedBy(pod, owner));
}

function isOwnedBy({ metadata }: KubeObject, owner: KubeObject): boolean {
  return Boolean(metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid));
}

function unreadableOf(events: readonly (readonly Event[] | undefined)[]): readonly string[] {
  return events.includes(undefined) ? ["events"] : [];
}

/** Lists the events of a workload. Undefined without the right to read events. */
async function listEvents(
  client: Client,
  { namespace, name, kind }: Required<ObjectKey> & { readonly kind: string },
  signal: AbortSignal,
): Promise<readonly Event[] | undefined> {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  try {
    return (await client.list("events", { namespace, fieldSelector, signal })).items;
  } catch (error) {
    if (error instanceof StatusError && error.code === 403) return undefined;
    throw error;
  }
}

/**
 * Finds out whether the cluster is Kindling's and accepts EnforcedRollingUpdate for a set, by a dry run of the change:
 * the API server does not report its feature gates. Unknown if the caller may not change the set.
 */
export async function readPlatform(
  client: Client,
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<Platform> {
  const { gitVersion } = await client.request<{ gitVersion?: unknown }>("GET", "/version", { signal });
  if (typeof gitVersion !== "string" || !isKindlingVersion(gitVersion))
    return { isKindling: false, acceptsEnforced: false };
  const body = { spec: { updateStrategy: { type: "EnforcedRollingUpdate" } } };
  try {
    await client.patch("statefulsets", key, { patch: { kind: "merge", body }, dryRun: true, signal });
    return { isKindling: true, acceptsEnforced: true };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { isKindling: true, acceptsEnforced: error.code === 422 ? false : undefined };
  }
}

/** Facts about the pods that are not ready, with what the caller may not read. */
interface UnreadyPods {
  readonly pods: readonly PodFacts[];
  /** Number of selected pods, ready or not. */
  readonly total: number;
  readonly unreadable: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Reads the pods that are neither ready nor completed, with their events and nodes. Kubelets, claims and logs are not
 * read, so that the cost does not grow with the number of broken pods.
 */
export async function gatherUnready(
  { client, clock }: GatherDeps,
  { namespace, labelSelector }: Pick<Selection, "namespace" | "labelSelector">,
  signal: AbortSignal,
): Promise<UnreadyPods> {
  const unreadable: string[] = [];
  const readable = async <T>(what: string, request: Promise<readonly T[]>) => {
    try {
      return await request;
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 403) throw error;
      unreadable.push(what);
      return undefined;
    }
  };
  const list = <Name extends ResourceName>(resource: Name, options: ListOptions = {}) =>
    listAll({ client }, resource, { ...options, signal });
  const pods = await list("pods", { namespace, labelSelector });
  const unready = pods.filter((pod) => !isReady(pod) && pod.status?.phase !== "Succeeded");
  const [events, nodes] =
    unready.length === 0
      ? [[], []]
      : await Promise.all([
          readable("events", list("events", { namespace, fieldSelector: "involvedObject.kind=Pod" })),
          readable("nodes", list("nodes")),
        ]);
  const now = clock.now();
  const eventsByUid = new Map<string, Event[]>();
  for (const event of events ?? []) {
    const { uid = "" } = event.involvedObject;
    const known = eventsByUid.get(uid);
    if (known) known.push(event);
    else eventsByUid.set(uid, [event]);
  }
  return {
    pods: unready.map((pod) => factsOf(pod, { eventsByUid, nodes, now })),
    total: pods.length,
    unreadable,
    now,
  };
}

function factsOf(
  pod: Pod,
  {
    eventsByUid,
    nodes,
    now,
  }: { eventsByUid: ReadonlyMap<string, Event[]>; nodes: readonly Node[] | undefined; now: number },
): PodFacts {
  const name = pod.spec?.nodeName;
  const node = nodes?.find(({ metadata }) => metadata.name === name);
  return {
    pod,
    events: eventsByUid.get(pod.metadata.uid ?? "") ?? [],
    pulls: [],
    budgets: [],
    advice: [],
    ...(name && nodes && { node: node ? { kind: "found", object: node } : { kind: "missing" } }),
    now,
  };
}

const pageSize = 500;

async function listAll<Name extends ResourceName>(
  { client }: Pick<GatherDeps, "client">,
  resource: Name,
  options: ListOptions,
): Promise<readonly ObjectTypes[Name][]> {
  const items: ObjectTypes[Name][] = [];
  let page = await client.list(resource, { ...options, limit: pageSize });
  items.push(...page.items);
  while (page.continue) {
    page = await client.list(resource, { ...options, limit: pageSize, continue: page.continue });
    items.push(...page.items);
  }
  return items;
}
