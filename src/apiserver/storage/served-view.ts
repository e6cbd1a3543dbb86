import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import { type CachedKind, CachedObject, cachedKind, encodeStored } from "./cached-object.ts";
import type { KindCache } from "./kind-cache.ts";
import type { Change } from "./watcher-index.ts";

/**
 * View of a storage location in the version in which a kind serves its objects. Objects are converted on first use and kept
 * as long as the stored object is.
 *
 *     stored object ──▶ convert (webhook, if it is stored in another version) ──▶ toServed (defaults, pruning) ──▶ served
 */
export interface ServedView {
  readonly kind: CachedKind;
  /** Cache of the served objects. Its functions throw for objects that `prepare` has not converted. */
  readonly cache: KindCache;
  /** The stored objects. */
  readonly base: KindCache;
  /** Served form of a change whose objects need no preparation. */
  servedChange(change: Change): Change;
  /** Whether some object has to be converted by a webhook before it can be served. */
  needsPreparation(objects: Iterable<CachedObject | undefined>): boolean;
  /** Converts objects so that they can be served. Rejects when the webhook fails. */
  prepare(objects: Iterable<CachedObject | undefined>): Promise<void>;
  /** Served form of a stored object that needs no preparation. */
  served(stored: CachedObject): CachedObject;
  /** Stored form of a served object. */
  toStored(object: KubeObject): KubeObject | Promise<KubeObject>;
}

/** Objects in one request to a webhook. */
const maxBatch = 500;

/** Undefined for kinds that serve their objects as they are stored. */
export function createServedView(definition: KindDefinition, base: KindCache): ServedView | undefined {
  const { resource, strategy, conversion } = definition;
  if (!conversion) return undefined;
  const kind = cachedKind(resource, strategy.selectableFields);
  const known = new WeakMap<CachedObject, CachedObject>();

  function keep(stored: CachedObject, converted: KubeObject): CachedObject {
    const value = Buffer.from(encodeStored(converted));
    const served = new CachedObject(kind, { key: stored.key, value, revision: stored.revision });
    known.set(stored, served);
    return served;
  }

  function served(stored: CachedObject): CachedObject {
    const converted = known.get(stored);
    if (converted) return converted;
    if (conversion?.needsWebhook(stored.apiVersion())) throw new Error(`${stored.key} was not converted`);
    const object = stored.parse();
    return keep(stored, conversion?.toServed(object) ?? object);
  }

  function unprepared(objects: Iterable<CachedObject | undefined>): CachedObject[] {
    const found: CachedObject[] = [];
    for (const object of objects)
      if (object && !known.has(object) && conversion?.needsWebhook(object.apiVersion())) found.push(object);
    return found;
  }

  const servedChange = (change: Change): Change => ({
    ...change,
    before: change.before && served(change.before),
    after: change.after && served(change.after),
  });

  const cache: KindCache = {
    ...base,
    get(key) {
      const stored = base.get(key);
      return stored && served(stored);
    },
    *range(prefix, after) {
      for (const stored of base.range(prefix, after)) yield served(stored);
    },
    changesAfter: (revision, limit) => base.changesAfter(revision, limit)?.map(servedChange),
    watch: (scope, listener) => base.watch(scope, (change) => listener(servedChange(change))),
  };

  return {
    kind,
    cache,
    base,
    servedChange,
    served,
    toStored: conversion.toStored,
    needsPreparation: (objects) => unprepared(objects).length > 0,
    async prepare(objects) {
      const waiting = unprepared(objects);
      for (let start = 0; start < waiting.length; start += maxBatch) {
        const batch = waiting.slice(start, start + maxBatch);
        const converted = await conversion.convert(batch.map((object) => object.parse()));
        batch.forEach((stored, i) => {
          const object = converted[i];
          if (object) keep(stored, conversion.toServed(object));
        });
      }
    },
  };
}
