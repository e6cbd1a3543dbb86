import type { Resource } from "../../api/resources.ts";
import { expired, timeout } from "../../api/status-error.ts";
import { isStoreError } from "../../store/store-error.ts";
import type { Answer } from "../api-request.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import { keyPrefix } from "../registry/object-key.ts";
import type { ObjectReader } from "../registry/object-reader.ts";
import { matches, type ObjectSelector, selectsAll } from "../registry/object-selector.ts";
import { encodeContinue } from "./continue-token.ts";
import type { ListOptions } from "./read-options.ts";

export interface ListRequest {
  readonly resource: Resource;
  /** Empty: all namespaces. */
  readonly namespace: string;
  readonly selector: ObjectSelector;
  readonly options: ListOptions;
}

/** How long a list waits for a revision that this server has not seen yet. */
const revisionWaitMs = 3_000;

export async function listObjects(reader: ObjectReader, request: ListRequest): Promise<Answer> {
  const { resource, namespace, selector, options } = request;
  const prefix = keyPrefix(resource, resource.namespaced ? namespace : "");
  const { time, limit = Number.POSITIVE_INFINITY } = options;
  const after = time.kind === "continue" ? prefix + time.token.after : undefined;
  const wanted = await wantedRevision(reader, time);

  // Nothing is awaited between here and the last object of the cache: its revision and its objects belong together.
  const cached = wanted === undefined || wanted === reader.revision();
  const revision = cached ? reader.revision() : wanted;
  const cache = reader.cache(resource);
  const { items, more } = cached
    ? takePage(cache.range(prefix, after), { selector, limit })
    : await takePastPage(reader.readAt(resource, prefix, { after, revision }), { selector, limit, revision });

  const last = items.at(-1);
  if (!more || !last) return { kind: "list", items, revision };
  return {
    kind: "list",
    items,
    revision,
    continueToken: encodeContinue({ revision, after: last.key.slice(prefix.length) }),
    // With a selector nobody knows how many of the rest would match.
    ...(selectsAll(selector) && cached && { remaining: cache.countAfter(prefix, last.key) }),
  };
}

interface Page {
  readonly items: CachedObject[];
  readonly more: boolean;
}

type PageOptions = Pick<ListRequest, "selector"> & { limit: number };

function takePage(objects: Iterable<CachedObject>, { selector, limit }: PageOptions): Page {
  const items: CachedObject[] = [];
  for (const object of objects) {
    if (!matches(selector, object)) continue;
    if (items.length === limit) return { items, more: true };
    items.push(object);
  }
  return { items, more: false };
}

async function takePastPage(
  objects: AsyncIterable<CachedObject>,
  { selector, limit, revision }: PageOptions & { revision: number },
): Promise<Page> {
  const items: CachedObject[] = [];
  try {
    for await (const object of objects) {
      if (!matches(selector, object)) continue;
      if (items.length === limit) return { items, more: true };
      items.push(object);
    }
  } catch (error) {
    throw isStoreError(error, "compacted") ? tooOld(revision) : error;
  }
  return { items, more: false };
}

/** The revision that the list must be of; undefined for whatever the cache has. */
async function wantedRevision(reader: ObjectReader, time: ListOptions["time"]): Promise<number | undefined> {
  switch (time.kind) {
    case "any":
      return undefined;
    case "latest":
      return reader.shared ? reader.latestRevision() : undefined;
    case "notOlderThan":
      await waitForRevision(reader, time.revision);
      return undefined;
    case "exact":
      await waitForRevision(reader, time.revision);
      return time.revision;
    case "continue":
      if (time.token.revision !== undefined) await waitForRevision(reader, time.token.revision);
      return time.token.revision;
  }
}

export async function waitForRevision(reader: ObjectReader, revision: number): Promise<void> {
  if (await reader.reached(revision, revisionWaitMs)) return;
  throw timeout(`Too large resource version: ${revision}, current: ${reader.revision()}`, [
    { reason: "ResourceVersionTooLarge", message: "Too large resource version" },
  ]);
}

function tooOld(revision: number) {
  return expired(
    `The provided resource version ${revision} is too old: what it stands for is no longer kept. List again.`,
  );
}
