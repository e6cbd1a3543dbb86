import type { KubeObject } from "../../api/meta/objects.ts";
import type { Resource } from "../../api/meta/resource.ts";
import { alreadyExists, conflict, modifiedDetail, notFound } from "../../api/meta/status-error.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { CreateResult, Entry, Store, UpdateResult } from "../../store/store.ts";
import type { KindRegistry } from "../kinds/kind-registry.ts";
import { CachedObject, encodeStored } from "./cached-object.ts";
import type { KindCache } from "./kind-cache.ts";
import { objectKey } from "./object-key.ts";
import type { WatchCache } from "./watch-cache.ts";

/** Identifies an object. */
export interface ObjectRef {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** Reference of an object under the kind it names. */
export function refOf(kinds: Pick<KindRegistry, "findKind">, object: KubeObject): ObjectRef {
  const resource = kinds.findKind(object.apiVersion, object.kind)?.resource;
  if (!resource) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
  return { resource, namespace: object.metadata.namespace ?? "", name: object.metadata.name ?? "" };
}

/** Change of the current object: replace it with `object`, remove it, or keep it. */
export type Change = { kind: "put"; object: KubeObject } | { kind: "remove" } | { kind: "keep" };

/** Objects in the store: reads through the cache, writes by compare-and-set. Knows no rules of any kind. */
export interface ObjectStore {
  cache(resource: Resource): KindCache;
  revision(): number;
  /** Throws 404. */
  get(ref: ObjectRef): Promise<CachedObject>;
  find(ref: ObjectRef): Promise<CachedObject | undefined>;
  /** Reads the cache, which may lag behind a shared store. */
  getCached(ref: ObjectRef): CachedObject | undefined;
  /** Throws 409 when the object exists. */
  create(ref: ObjectRef, object: KubeObject): Promise<CachedObject>;
  /** Reads, decides, writes; repeats all three after a conflict. Throws 404 when the object does not exist. */
  change(ref: ObjectRef, decide: Decide): Promise<ChangeResult>;
}

/** May run several times. */
type Decide = (current: CachedObject) => Change | Promise<Change>;

type ChangeResult =
  | { readonly kind: "put"; readonly object: CachedObject }
  | { readonly kind: "removed"; readonly object: CachedObject; readonly revision: number }
  | { readonly kind: "kept"; readonly object: CachedObject };

/** Outcome of one attempt: a result, or the object that another writer stored in the meantime. */
type Attempt = ChangeResult | { readonly kind: "conflict"; readonly current: CachedObject | undefined };

/** Number of conflicts after which a write gives up. */
const maxAttempts = 100;

export function createObjectStore(deps: { readonly store: Store; readonly cache: WatchCache }): ObjectStore {
  const { store, cache } = deps;
  const changing = createKeyedMutex();
  const toCached = (resource: Resource, entry: Entry) =>
    new CachedObject(cache.cachedKind(resource.storedAs), entry);
  const keyOf = ({ resource, namespace, name }: ObjectRef) => objectKey(resource, namespace, name);

  function getCached(ref: ObjectRef): CachedObject | undefined {
    const stored = cache.kind(ref.resource.storedAs).get(keyOf(ref));
    const view = stored && cache.view(ref.resource);
    if (!view) return stored;
    return view.needsPreparation([stored]) ? undefined : view.served(stored);
  }

  async function findStored(ref: ObjectRef): Promise<CachedObject | undefined> {
    if (!store.shared) return cache.kind(ref.resource.storedAs).get(keyOf(ref));
    // Another server may have written: the cache may lag behind.
    const entry = await store.get(keyOf(ref));
    return entry && toCached(ref.resource, entry);
  }

  /** The object in the version of the resource. */
  async function toServed({ resource }: ObjectRef, stored: CachedObject): Promise<CachedObject> {
    const view = cache.view(resource);
    if (!view) return stored;
    await view.prepare([stored]);
    return view.served(stored);
  }

  async function find(ref: ObjectRef): Promise<CachedObject | undefined> {
    const stored = await findStored(ref);
    return stored && toServed(ref, stored);
  }

  /** Form in which an object of the resource's version is stored. */
  function toStored({ resource }: ObjectRef, object: KubeObject): KubeObject | Promise<KubeObject> {
    return cache.view(resource)?.toStored(object) ?? object;
  }

  async function get(ref: ObjectRef): Promise<CachedObject> {
    const object = await find(ref);
    if (!object) throw notFound(ref.resource, ref.name);
    return object;
  }

  /**
   * Writes and waits for the cache, so that the writer sees the write in later reads and watches through this server. The
   * cache uses the draft instead of parsing the stored bytes when their event arrives.
   */
  async function writeThrough<Result extends CreateResult | UpdateResult>(
    { resource }: ObjectRef,
    draft: { key: string; value: Buffer; object: KubeObject },
    write: () => Promise<Result>,
  ): Promise<Result> {
    const untrack = cache.kind(resource.storedAs).trackPendingWrite(draft.key, draft);
    try {
      const result = await write();
      if (result.kind === "created" || result.kind === "updated") await cache.reached(result.revision);
      return result;
    } finally {
      untrack();
    }
  }

  /** The written object; not the cached one when another server has changed it since. */
  function written(ref: ObjectRef, entry: Entry): Promise<CachedObject> {
    const { resource } = ref;
    const cached = cache.kind(resource.storedAs).get(entry.key);
    return toServed(ref, cached?.revision === entry.revision ? cached : toCached(resource, entry));
  }

  /** Undefined when the object exists. */
  async function tryCreate(ref: ObjectRef, object: KubeObject): Promise<CachedObject | undefined> {
    const key = keyOf(ref);
    const stored = await toStored(ref, object);
    const value = Buffer.from(encodeStored(stored));
    const draft = { key, value, object: stored };
    const result = await writeThrough(ref, draft, () => store.create(key, value));
    return result.kind === "exists" ? undefined : written(ref, { key, value, revision: result.revision });
  }

  async function tryChange(
    ref: ObjectRef,
    { stored, current }: { stored: CachedObject; current: CachedObject },
    change: Change,
  ): Promise<Attempt> {
    const { key, revision: ifRevision } = stored;
    if (change.kind === "keep") return { kind: "kept", object: current };
    if (change.kind === "remove") {
      const result = await store.delete(key, { ifRevision });
      if (result.kind !== "deleted") return conflictWith(ref, result.current);
      await cache.reached(result.revision);
      return { kind: "removed", object: current, revision: result.revision };
    }
    const { object } = change;
    const next = await toStored(ref, object);
    const text = encodeStored(next);
    // A write without a change takes no revision and notifies no watcher.
    if (stored.isStoredAs(text)) return { kind: "kept", object: current };
    const value = Buffer.from(text);
    const result = await writeThrough(ref, { key, value, object: next }, () =>
      store.update(key, value, { ifRevision }),
    );
    if (result.kind !== "updated") return conflictWith(ref, result.current);
    return { kind: "put", object: await written(ref, { key, value, revision: result.revision }) };
  }

  function conflictWith({ resource }: ObjectRef, entry: Entry | undefined): Attempt {
    return { kind: "conflict", current: entry && toCached(resource, entry) };
  }

  async function change(ref: ObjectRef, decide: Decide): Promise<ChangeResult> {
    let stored = await findStored(ref);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (!stored) throw notFound(ref.resource, ref.name);
      const current = await toServed(ref, stored);
      const result = await tryChange(ref, { stored, current }, await decide(current));
      if (result.kind !== "conflict") return result;
      stored = result.current;
    }
    throw conflict(ref.resource, ref.name, modifiedDetail);
  }

  return {
    cache: (resource) => cache.kind(resource.storedAs),
    revision: () => cache.revision(),
    get,
    find,
    getCached,
    async create(ref, object) {
      const created = await tryCreate(ref, object);
      if (!created) throw alreadyExists(ref.resource, ref.name);
      return created;
    },
    // Writers of the same object through this server queue up instead of causing conflicts.
    change: (ref, decide) => changing.run(keyOf(ref), () => change(ref, decide)),
  };
}
