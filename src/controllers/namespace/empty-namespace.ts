import type { KubeObject, Pod } from "../../api/objects.ts";
import { StatusError } from "../../api/status-error.ts";
import type { Client } from "../../client/client.ts";
import { collectionOf, objectPath } from "../../client/resource-path.ts";
import { isNotFound } from "../../client/status-errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import { discoverResources, type ServedResource } from "../discover-resources.ts";
import { estimateTermination } from "./estimate-termination.ts";
import type { Emptying } from "./namespace-conditions.ts";

interface EmptyOptions {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly namespace: string;
  readonly deletedAtMs: number;
  readonly signal: AbortSignal;
}

export interface Attempt extends Emptying {
  /** 0 when nothing is left, or nothing that will go by itself. */
  readonly estimateSeconds: number;
}

interface Leftover {
  readonly resource: ServedResource;
  readonly objects: readonly KubeObject[];
  readonly estimateSeconds: number;
}

const deleteOptions = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" };

/**
 * Deletes all that is in a namespace, of whatever kinds the server has, and says what is left. Pods go first, and while
 * some are there nothing else does: they may need their secrets and volumes to end well.
 */
export async function emptyNamespace(options: EmptyOptions): Promise<Attempt> {
  let kinds: readonly ServedResource[];
  try {
    const served = await discoverResources(options.client, options.signal);
    kinds = served.filter(({ namespaced, verbs }) => namespaced && verbs.includes("delete"));
  } catch (error) {
    options.signal.throwIfAborted();
    // Not even a part of the list is known to be complete: nothing is deleted on the strength of it.
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

/** Without a resourceVersion: as it is now, and not as some cache has it. A kind that cannot be listed has nothing. */
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
