import type { Resource } from "../../../api/meta/resource.ts";
import { expired, timeout } from "../../../api/meta/status-error.ts";
import { isStoreError } from "../../../store/store.ts";
import type { ListResponse } from "../../request/api-request.ts";
import type { CachedObject } from "../../storage/cached-object.ts";
import type { KindCache } from "../../storage/kind-cache.ts";
import { keyPrefix } from "../../storage/object-key.ts";
import type { ObjectReader } from "../../storage/object-reader.ts";
import { matches, type ObjectSelector, selectsAll } from "../../storage/object-selector.ts";
import { encodeContinue } from "./continue-token.ts";
import type { ListOptions } from "./read-options.ts";

export interface ListRequest {
  readonly resource: Resource;
  /** Namespace of the objects. Empty for all namespaces. */
  readonly namespace: string;
  readonly selector: ObjectSelector;
  readonly options: ListOptions;
}

/** Maximum time that a list waits for a revision that this server has not seen yet. */
const revisionWaitMs = 3_000;

export async function listObjects(reader: ObjectReader, request: ListRequest): Promise<ListResponse> {
  const { resource, namespace, selector, options } = request;
  const prefix = keyPrefix(resource, resource.namespaced ? namespace : "");
  const { time, limit = Number.POSITIVE_INFINITY } = options;
  const after = time.kind === "continue" ? prefix + time.token.after : undefined;
  const wanted = await wantedRevision(reader, time);
  await prepare(() => reader.prepareRange(resource, prefix));

  // No await between here and the last object of the cache, so that the revision and the objects are consistent.
  const revision = wanted ?? reader.revision();
  if (revision === reader.revision()) return listCached(reader, { resource, prefix, selector, limit, after });
  const page = takePastPage(reader.readAt(resource, prefix, { after, revision }), {
    selector,
    limit,
    revision,
  });
  return toResponse(await page, { prefix, revision });
}

/** Waits until nothing is left to prepare. The caller must not wait between this and the use of the objects. */
export async function prepare(next: () => Promise<void> | undefined): Promise<void> {
  for (let preparing = next(); preparing; preparing = next()) await preparing;
}

interface CachedListRequest extends Pick<ListRequest, "resource" | "selector"> {
  readonly prefix: string;
  readonly limit?: number;
  readonly after?: string | undefined;
}

/** Lists that are being sent, by the cache that they were read from. */
const listsInUse = new WeakMap<KindCache, WeakCache<ListResponse>>();

/** Lists the current objects of the cache. Requests for the same objects share the response while one of them uses it. */
export function listCached(reader: ObjectReader, request: CachedListRequest): ListResponse {
  const { resource, prefix, selector, limit = Number.POSITIVE_INFINITY, after } = request;
  const revision = reader.revision();
  const cache = reader.cache(resource);
  const lists = listsInUse.get(cache) ?? createWeakCache();
  listsInUse.set(cache, lists);
  const key = JSON.stringify([prefix, revision, cache.changeCount(), limit, after, selector]);
  const shared = lists.get(key);
  if (shared) return shared;
  const page = takePage(cache.range(prefix, after), { selector, limit });
  const last = page.items.at(-1);
  // With a selector the number of remaining matches is unknown.
  const remaining =
    page.more && last && selectsAll(selector) ? cache.countAfter(prefix, last.key) : undefined;
  const response = toResponse(page, { prefix, revision, remaining });
  lists.set(key, response);
  return response;
}

function toResponse(
  { items, more }: Page,
  { prefix, revision, remaining }: { prefix: string; revision: number; remaining?: number | undefined },
): ListResponse {
  const last = items.at(-1);
  if (!more || !last) return { kind: "list", items, revision };
  return {
    kind: "list",
    items,
    revision,
    continueToken: encodeContinue({ revision, after: last.key.slice(prefix.length) }),
    ...(remaining !== undefined && { remaining }),
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

/** Required revision of the list. Undefined for any revision of the cache. */
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

/**
 * Cache whose values are kept only while they are referenced elsewhere: concurrent users share a value, which is collected
 * after the last of them.
 */
export interface WeakCache<Value extends object> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
}

export function createWeakCache<Value extends object>(): WeakCache<Value> {
  const refs = new Map<string, WeakRef<Value>>();
  const collected = new FinalizationRegistry<{ key: string; ref: WeakRef<Value> }>(({ key, ref }) => {
    if (refs.get(key) === ref) refs.delete(key);
  });
  return {
    get: (key) => refs.get(key)?.deref(),
    set(key, value) {
      const ref = new WeakRef(value);
      refs.set(key, ref);
      collected.register(value, { key, ref });
    },
  };
}
