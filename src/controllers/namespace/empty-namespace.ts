import type { KubeObject, Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import type { Client } from "../../client/api/client.ts";
import { collectionOf, objectPath } from "../../client/api/resource-path.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import { discoverResources, type ServedResource } from "../shared/discover-resources.ts";

interface EmptyOptions {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly namespace: string;
  readonly deletedAtMs: number;
  readonly signal: AbortSignal;
}

/** Result of one attempt to empty a namespace. */
export interface Emptying {
  readonly discoveryError?: string;
  readonly deletionErrors: readonly string[];
  /** Number of remaining objects by resource: `pods.`, `deployments.apps`. */
  readonly remaining: ReadonlyMap<string, number>;
  /** Number of remaining objects by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
}

export interface Attempt extends Emptying {
  /** Seconds that the remaining objects may take. 0 if nothing remains or nothing explains why it does. */
  readonly estimateSeconds: number;
}

interface Leftover {
  readonly resource: ServedResource;
  readonly objects: readonly KubeObject[];
  readonly estimateSeconds: number;
}

const deleteOptions = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" };

/**
 * Deletes everything in a namespace, of every resource that the server serves, and reports what is left. Pods are
 * deleted first: they may need their secrets and volumes to terminate.
 */
export async function emptyNamespace(options: EmptyOptions): Promise<Attempt> {
  let kinds: readonly ServedResource[];
  try {
    const served = await discoverResources(options.client, options.signal);
    kinds = served.filter(({ namespaced, verbs }) => namespaced && verbs.includes("delete"));
  } catch (error) {
    options.signal.throwIfAborted();
    // An incomplete list of resources must not lead to a partial deletion.
    return { ...summarize(), discoveryError: messageOf(error) };
  }
  const isPods = ({ group, plural }: ServedResource) => group === "" && plural === "pods";
  const pods = await emptyKinds(options, kinds.filter(isPods));
  if (pods.leftovers.length > 0) return summarize(pods);
  return summarize(
    pods,
    await emptyKinds(
      options,
      kinds.filter((kind) => !isPods(kind)),
    ),
  );
}

interface Round {
  readonly errors: readonly string[];
  readonly leftovers: readonly Leftover[];
}

function summarize(...rounds: readonly Round[]): Attempt {
  const leftovers = rounds.flatMap((round) => round.leftovers);
  return {
    deletionErrors: rounds.flatMap(({ errors }) => errors),
    estimateSeconds: Math.max(0, ...leftovers.map(({ estimateSeconds }) => estimateSeconds)),
    remaining: new Map(
      leftovers.map(({ resource: { plural, group }, objects }) => [`${plural}.${group}`, objects.length]),
    ),
    finalizers: countFinalizers(leftovers),
  };
}

async function emptyKinds(options: EmptyOptions, kinds: readonly ServedResource[]): Promise<Round> {
  const errors: string[] = [];
  const leftovers: Leftover[] = [];
  await Promise.all(
    kinds.map(async (resource) => {
      try {
        const leftover = await emptyKind(options, resource);
        if (leftover.objects.length === 0) return;
        leftovers.push(leftover);
        if (leftover.estimateSeconds > 0) return;
        const { group, version, plural } = resource;
        const kind = `${group}/${version}, Resource=${plural}`;
        errors.push(`unexpected items still remain in namespace: ${options.namespace} for gvr: ${kind}`);
      } catch (error) {
        options.signal.throwIfAborted();
        errors.push(messageOf(error));
      }
    }),
  );
  return { errors, leftovers };
}

async function emptyKind(options: EmptyOptions, resource: ServedResource): Promise<Leftover> {
  const { client, clock, namespace, deletedAtMs, signal } = options;
  const path = collectionOf(resource, namespace);
  const before = await listAll(client, path, signal);
  if (before.length > 0) await deleteAll(options, resource, before);
  const objects = before.length > 0 ? await listAll(client, path, signal) : before;
  const estimateSeconds = estimateTermination({
    deletedAtMs,
    now: clock.now(),
    hasFinalizers: objects.some(({ metadata }) => metadata.finalizers?.length),
    pods: resource.plural === "pods" && resource.group === "" ? (before as readonly Pod[]) : [],
  });
  return { resource, objects, estimateSeconds };
}

async function deleteAll(
  { client, namespace, signal }: EmptyOptions,
  resource: ServedResource,
  objects: readonly KubeObject[],
): Promise<void> {
  if (resource.verbs.includes("deletecollection")) {
    await client.request("DELETE", collectionOf(resource, namespace), { body: deleteOptions, signal });
    return;
  }
  for (const { metadata } of objects) {
    const path = objectPath(resource, { namespace, name: metadata.name });
    await client.request("DELETE", path, { body: deleteOptions, signal }).catch(ignoreMissing);
  }
}

/** Lists without resourceVersion, so that the result is not from a cache. A resource that cannot be listed is empty. */
async function listAll(
  client: Pick<Client, "request">,
  path: string,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    const list = await client.request<{ readonly items?: readonly KubeObject[] }>("GET", path, { signal });
    return list.items ?? [];
  } catch (error) {
    if (error instanceof StatusError && (error.code === 404 || error.code === 405)) return [];
    throw error;
  }
}

function countFinalizers(leftovers: readonly Leftover[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { objects } of leftovers) {
    for (const finalizer of objects.flatMap(({ metadata }) => metadata.finalizers ?? [])) {
      counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
    }
  }
  return counts;
}

function ignoreMissing(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/** Seconds that the owner of a finalizer may take, as upstream. */
const finalizerSeconds = 15;

interface Remains {
  readonly deletedAtMs: number;
  readonly now: number;
  /** Whether finalizers block some of the remaining objects. */
  readonly hasFinalizers: boolean;
  /** Pods that existed before the attempt; empty for other resources. */
  readonly pods: readonly Pod[];
}

/** Seconds that the remaining objects of a resource may take. 0 if nothing explains why they remain. */
export function estimateTermination({ deletedAtMs, now, hasFinalizers, pods }: Remains): number {
  const graceSeconds = pods
    .filter((pod) => !hasEnded(pod))
    .reduce((longest, { spec }) => Math.max(longest, spec?.terminationGracePeriodSeconds ?? 0), 0);
  if (now - deletedAtMs < graceSeconds * 1_000) return graceSeconds;
  return hasFinalizers ? finalizerSeconds : 0;
}
