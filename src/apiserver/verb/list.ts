import type { Resource } from "../../api/resources.ts";
import { expired, timeout } from "../../api/status-error.ts";
import { isStoreError } from "../../store/store-error.ts";
import type { Answer } from "../api-request.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import { encodeContinue } from "../continue-token.ts";
import { keyPrefix } from "../object-key.ts";
import type { ObjectReader } from "../object-reader.ts";
import { matches, type ObjectSelector, selectsAll } from "../object-selector.ts";
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
  const source = await chooseSource(reader, request);
  const limit = options.limit ?? Number.POSITIVE_INFINITY;

  const items: CachedObject[] = [];
  let more = false;
  try {
    for await (const object of source.read(prefix)) {
      if (!selectsAll(selector) && !matches(selector, object)) continue;
      if (items.length === limit) {
        more = true;
        break;
      }
      items.push(object);
    }
  } catch (error) {
    throw isStoreError(error, "compacted") ? tooOld(source.revision) : error;
  }

  const last = items.at(-1);
  if (!more || !last) return { kind: "list", items, revision: source.revision };
  const after = last.key.slice(prefix.length);
  return {
    kind: "list",
    items,
    revision: source.revision,
    continueToken: encodeContinue({ revision: source.revision, after }),
    // With a selector nobody knows how many of the rest would match.
    ...(selectsAll(selector) && source.countAfter && { remaining: source.countAfter(prefix, last.key) }),
  };
}

interface Source {
  readonly revision: number;
  read(prefix: string): AsyncIterable<CachedObject> | Iterable<CachedObject>;
  countAfter?(prefix: string, key: string): number;
}

async function chooseSource(
  reader: ObjectReader,
  { resource, namespace, options }: ListRequest,
): Promise<Source> {
  const { time } = options;
  const prefix = keyPrefix(resource, resource.namespaced ? namespace : "");
  const after = time.kind === "continue" ? prefix + time.token.after : undefined;
  const fromCache = (): Source => ({
    revision: reader.revision(),
    read: () => reader.cache(resource).range(prefix, after),
    countAfter: (_, key) => reader.cache(resource).countAfter(prefix, key),
  });
  const fromStore = (revision: number): Source => ({
    revision,
    read: () => reader.readAt(resource, prefix, { after, revision }),
  });

  switch (time.kind) {
    case "any":
      return fromCache();
    case "latest":
      return reader.shared ? fromStore(await reader.latestRevision()) : fromCache();
    case "notOlderThan":
      await waitForRevision(reader, time.revision);
      return fromCache();
    case "exact":
      await waitForRevision(reader, time.revision);
      return time.revision === reader.revision() ? fromCache() : fromStore(time.revision);
    case "continue":
      if (time.token.revision === undefined) return fromCache();
      await waitForRevision(reader, time.token.revision);
      return time.token.revision === reader.revision() ? fromCache() : fromStore(time.token.revision);
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
