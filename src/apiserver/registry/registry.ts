import type { KubeObject } from "../../api/objects.ts";
import { findResourceOfKind, type Resource } from "../../api/resources.ts";
import { alreadyExists, conflict, modifiedDetail, notFound } from "../../api/status-error.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { CreateResult, Entry, Store, UpdateResult } from "../../store/store.ts";
import { type CachedKind, CachedObject } from "../cache/cached-object.ts";
import type { KindCache } from "../cache/kind-cache.ts";
import type { WatchCache } from "../cache/watch-cache.ts";
import { objectKey } from "./object-key.ts";
import { encodeStored } from "./stored-object.ts";

/** Which object a request is about. */
export interface ObjectRef {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** The object that this one is, or would be, in the store. */
export function refOf(object: KubeObject): ObjectRef {
  const resource = findResourceOfKind(object.apiVersion, object.kind);
  if (!resource) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
  return { resource, namespace: object.metadata.namespace ?? "", name: object.metadata.name ?? "" };
}

/** What a change makes of the current object: a new one to be written in its place, or its removal, or nothing. */
export type Change = { kind: "put"; object: KubeObject } | { kind: "remove" } | { kind: "keep" };

/** Objects in the store: reads through the cache, writes by compare-and-set. Knows no rules of any kind. */
export interface Registry {
  cache(resource: Resource): KindCache;
  revision(): number;
  get(ref: ObjectRef): Promise<CachedObject>;
  find(ref: ObjectRef): Promise<CachedObject | undefined>;
  /** What the cache has, which for a shared store may be a little old. */
  peek(ref: ObjectRef): CachedObject | undefined;
  create(ref: ObjectRef, object: KubeObject): Promise<CachedObject>;
  /** Reads, decides, writes; again from the start when somebody else was faster. `decide` may run several times. */
  change(ref: ObjectRef, decide: Decide): Promise<ChangeResult>;
}

type Decide = (current: CachedObject) => Change | Promise<Change>;

type ChangeResult =
  | { readonly kind: "put"; readonly object: CachedObject }
  | { readonly kind: "removed"; readonly object: CachedObject; readonly revision: number }
  | { readonly kind: "kept"; readonly object: CachedObject };

/** An update loses to faster ones this often before it gives up. */
const maxAttempts = 100;

export function createRegistry(deps: {
  store: Store;
  cache: WatchCache;
  kindOf: (resource: Resource) => CachedKind;
}): Registry {
  const { store, cache, kindOf } = deps;
  const changing = createKeyedMutex();
  const toCached = (resource: Resource, entry: Entry) => new CachedObject(kindOf(resource), entry);

  function peek({ resource, namespace, name }: ObjectRef): CachedObject | undefined {
    return cache.kind(resource.storedAs).get(objectKey(resource, namespace, name));
  }

  async function find(ref: ObjectRef): Promise<CachedObject | undefined> {
    if (!store.shared) return peek(ref);
    // Another server may have written: only the store itself knows.
    const entry = await store.get(objectKey(ref.resource, ref.namespace, ref.name));
    return entry && toCached(ref.resource, entry);
  }

  async function get(ref: ObjectRef): Promise<CachedObject> {
    const object = await find(ref);
    if (!object) throw notFound(ref.resource, ref.name);
    return object;
  }

  /**
   * Writes and waits for the cache: who has written sees it in later reads and watches through this server. Until then
   * the object is on loan to the cache, which need not parse what it is told.
   */
  async function writeThrough<Result extends CreateResult | UpdateResult>(
    { resource }: ObjectRef,
    draft: { key: string; value: Buffer; object: KubeObject },
    write: () => Promise<Result>,
  ): Promise<Result> {
    const giveBack = cache.kind(resource.storedAs).lend(draft.key, draft);
    try {
      const result = await write();
      if (result.kind === "created" || result.kind === "updated") await cache.reached(result.revision);
      return result;
    } finally {
      giveBack();
    }
  }

  /** Another server may have changed it again since. */
  function written({ resource }: ObjectRef, entry: Entry): CachedObject {
    const cached = cache.kind(resource.storedAs).get(entry.key);
    return cached?.revision === entry.revision ? cached : toCached(resource, entry);
  }

  return {
    cache: (resource) => cache.kind(resource.storedAs),
    revision: () => cache.revision(),
    get,
    find,
    peek,

    async create(ref, object) {
      const key = objectKey(ref.resource, ref.namespace, ref.name);
      const value = Buffer.from(encodeStored(object));
      const result = await writeThrough(ref, { key, value, object }, () => store.create(key, value));
      if (result.kind === "exists") throw alreadyExists(ref.resource, ref.name);
      return written(ref, { key, value, revision: result.revision });
    },

    change: (ref, decide) =>
      // Who changes the same object through this server waits in line instead of losing the race again and again.
      changing.run(objectKey(ref.resource, ref.namespace, ref.name), () => changeNow(ref, decide)),
  };

  async function changeNow(ref: ObjectRef, decide: Decide): Promise<ChangeResult> {
    let current = await get(ref);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const change = await decide(current);
      if (change.kind === "keep") return { kind: "kept", object: current };
      if (change.kind === "remove") {
        const result = await store.delete(current.key, { ifRevision: current.revision });
        if (result.kind === "deleted") {
          await cache.reached(result.revision);
          return { kind: "removed", object: current, revision: result.revision };
        }
        if (!result.current) throw notFound(ref.resource, ref.name);
        current = toCached(ref.resource, result.current);
        continue;
      }
      const text = encodeStored(change.object);
      // A write that changes nothing takes no revision and wakes no watcher.
      if (current.isStoredAs(text)) return { kind: "kept", object: current };
      const value = Buffer.from(text);
      const { key, revision: ifRevision } = current;
      const result = await writeThrough(ref, { key, value, object: change.object }, () =>
        store.update(key, value, { ifRevision }),
      );
      if (result.kind === "updated") {
        return { kind: "put", object: written(ref, { key, value, revision: result.revision }) };
      }
      if (!result.current) throw notFound(ref.resource, ref.name);
      current = toCached(ref.resource, result.current);
    }
    throw conflict(ref.resource, ref.name, modifiedDetail);
  }
}
