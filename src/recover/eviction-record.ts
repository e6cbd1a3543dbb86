import type { Lease, StatefulSet } from "../api/meta/objects.ts";
import type { Client } from "../client/api/client.ts";
import { readLease } from "../client/leader-election/decide-lease.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../client/transport/status-errors.ts";

/** Lease that the controller holds while it runs. Its annotation is the record of evictions, also without a controller. */
export const recoverLease = { namespace: "kube-system", name: "kindling-recover" } as const;

/** Annotation of the lease with an EvictionRecord as JSON. */
const recordAnnotation = "kindling.dev/evictions";

/** Maximum size of the annotation. The API server accepts 256 KiB for all annotations of an object. */
const maxRecordBytes = 200_000;

/** Evicted pods of one update revision of a set. */
interface SetEvictions {
  /** UID of the set. */
  readonly uid: string;
  /** Name and number of the update revision. The number distinguishes a rollback from an earlier update to the revision. */
  readonly revision: string;
  readonly number: number;
  /** UID of the evicted pod of each ordinal. */
  readonly pods: Readonly<Record<string, string>>;
}

/** Evictions of the latest update revision of each set, by the set's namespace and name. */
export type EvictionRecord = Readonly<Record<string, SetEvictions>>;

/** An intended eviction. */
export interface PlannedEviction {
  /** Namespace and name of the set. */
  readonly key: string;
  readonly uid: string;
  readonly revision: string;
  readonly number: number;
  readonly ordinal: number;
  readonly podUid: string;
}

export type RecordOutcome =
  | { readonly kind: "recorded"; readonly record: EvictionRecord }
  /** Another pod of the ordinal was evicted for this update revision. */
  | { readonly kind: "repeated" }
  /** The record has a later revision of the set: the decision is outdated. */
  | { readonly kind: "outdated" }
  | { readonly kind: "full" };

/** Adds an eviction to the record. A pod that is recorded already, by a process that was killed, is recorded as before. */
export function addEviction(
  record: EvictionRecord,
  { key, uid, revision, number, ordinal, podUid }: PlannedEviction,
): RecordOutcome {
  const known = record[key]?.uid === uid ? record[key] : undefined;
  if (known && known.number > number) return { kind: "outdated" };
  const pods = known?.number === number && known.revision === revision ? known.pods : {};
  const evicted = pods[ordinal];
  if (evicted !== undefined && evicted !== podUid) return { kind: "repeated" };
  const next = { ...record, [key]: { uid, revision, number, pods: { ...pods, [ordinal]: podUid } } };
  return Buffer.byteLength(JSON.stringify(next)) > maxRecordBytes
    ? { kind: "full" }
    : { kind: "recorded", record: next };
}

/** Whether the evictions of a set are no longer needed: the set is gone, or its update revision is another one. */
export function isObsolete({ uid, revision }: SetEvictions, set: StatefulSet | undefined): boolean {
  if (!set || set.metadata.uid !== uid) return true;
  const { updateRevision } = set.status ?? {};
  return updateRevision !== undefined && updateRevision !== revision;
}

/** Reads the record of a lease. Throws if the annotation was changed to something else. */
export function parseRecord(lease: Pick<Lease, "metadata"> | undefined): EvictionRecord {
  const text = lease?.metadata.annotations?.[recordAnnotation];
  if (text === undefined) return {};
  try {
    const record: unknown = JSON.parse(text);
    if (isRecord(record)) return record;
  } catch {
    // Reported below.
  }
  const { namespace, name } = recoverLease;
  throw new Error(
    `the annotation ${recordAnnotation} of lease ${namespace}/${name} is not a record of evictions; remove it`,
  );
}

function isRecord(value: unknown): value is EvictionRecord {
  return isObject(value) && Object.values(value).every(isSetEvictions);
}

function isSetEvictions(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { uid, revision, number, pods } = value;
  const isIdentified = typeof uid === "string" && typeof revision === "string" && typeof number === "number";
  return isIdentified && isObject(pods) && Object.values(pods).every((pod) => typeof pod === "string");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type LeaseClient = Pick<Client, "get" | "create" | "update">;

/** Records an intended eviction on the lease. */
export async function recordEviction(
  client: LeaseClient,
  planned: PlannedEviction,
  signal: AbortSignal,
): Promise<RecordOutcome> {
  return changeRecord(client, (record) => addEviction(record, planned), signal);
}

/**
 * Removes the evictions that are no longer needed. Sets that look different in the cache are read from the server first,
 * because the record may be newer than the cache.
 */
export async function pruneRecord(
  client: LeaseClient,
  cached: (key: string) => StatefulSet | undefined,
  signal: AbortSignal,
): Promise<void> {
  const record = parseRecord(await readLease(client, recoverLease, { signal }));
  const obsolete = new Map<string, SetEvictions>();
  for (const [key, evictions] of Object.entries(record)) {
    if (!isObsolete(evictions, cached(key))) continue;
    if (isObsolete(evictions, await readSet(client, key, signal))) obsolete.set(key, evictions);
  }
  if (obsolete.size === 0) return;
  const isKept = ([key, { uid, number }]: [string, SetEvictions]) =>
    obsolete.get(key)?.uid !== uid || obsolete.get(key)?.number !== number;
  const prune = (current: EvictionRecord): RecordOutcome => ({
    kind: "recorded",
    record: Object.fromEntries(Object.entries(current).filter(isKept)),
  });
  await changeRecord(client, prune, signal);
}

async function readSet(
  client: LeaseClient,
  key: string,
  signal: AbortSignal,
): Promise<StatefulSet | undefined> {
  const [namespace = "", name = ""] = key.split("/");
  try {
    return await client.get("statefulsets", { namespace, name }, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Number of attempts to write the lease: its holder renews it, and other processes record evictions. */
const maxAttempts = 10;

/** Writes the record that the function returns, again from the current one if another process has written the lease. */
async function changeRecord(
  client: LeaseClient,
  change: (record: EvictionRecord) => RecordOutcome,
  signal: AbortSignal,
): Promise<RecordOutcome> {
  for (let attempt = 1; ; attempt++) {
    const lease = await readLease(client, recoverLease, { signal });
    const outcome = change(parseRecord(lease));
    if (outcome.kind !== "recorded") return outcome;
    const annotation = { [recordAnnotation]: JSON.stringify(outcome.record) };
    const metadata: Lease["metadata"] = lease?.metadata ?? recoverLease;
    const annotated = { ...metadata, annotations: { ...metadata.annotations, ...annotation } };
    try {
      if (lease) await client.update("leases", { ...lease, metadata: annotated }, { signal });
      else await client.create("leases", { ...emptyLease, metadata: annotated }, { signal });
      return outcome;
    } catch (error) {
      if (attempt >= maxAttempts || !(isConflict(error) || isAlreadyExists(error))) throw error;
    }
  }
}

/** Lease without a holder: the next controller acquires it. */
const emptyLease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec: {} } as const;
