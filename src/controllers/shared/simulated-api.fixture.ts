import { controllerOf } from "../../api/meta/object-facts.ts";
import type { KubeObject, Pod } from "../../api/meta/objects.ts";
import { apiVersionOf } from "../../api/meta/resource.ts";
import { alreadyExists, conflict, notFound } from "../../api/meta/status-error.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import { builtInSchema } from "../../api/schema/built-in-schema.ts";
import type { JsonObject } from "../../api/schema/json-object.ts";
import { definitionName } from "../../api/schema/schema.ts";
import type { Client, ObjectTypes, ResourceName } from "../../client/api/client.ts";
import { resourceNamed } from "../../client/api/resource-path.ts";
import type { Informer } from "../../client/informers/informer.ts";
import { type Change, createObjectCache, keyOf } from "../../client/informers/object-cache.ts";
import { type Informers, orphanedIn } from "./informers.ts";

/** Simulates that the controller's process exits. */
export class Crash extends Error {}

/** Deletion time of pods that the controller deletes, to distinguish them from pods deleted by others. */
export const byController = "2026-01-02T00:00:00Z";

interface Logged {
  readonly key: string;
  /** Undefined for a deletion. */
  readonly object: KubeObject | undefined;
}

const resources = ["statefulsets", "pods", "persistentvolumeclaims", "controllerrevisions", "jobs"] as const;
type StoredResource = (typeof resources)[number];

/**
 * The part of an API server that the controllers of StatefulSets and Jobs use, with a change log per resource, so that informers can lag
 * behind by any number of changes.
 */
export interface SimulatedApi {
  /** Returns a client that calls `onCall` before and after each write. `onCall` may throw a Crash. */
  client(onCall: (call: string, when: "before" | "after") => void): Client;
  /** Opens informers that lag by this number of changes per resource. */
  openViews(lag: (resource: StoredResource) => number): SimulatedViews;
  get<Name extends StoredResource>(resource: Name, key: string): ObjectTypes[Name] | undefined;
  list<Name extends StoredResource>(resource: Name): readonly ObjectTypes[Name][];
  /** Writes an object as a user or kubelet would. */
  put<Name extends StoredResource>(resource: Name, object: ObjectTypes[Name]): void;
  remove(resource: StoredResource, key: string): void;
  /** Descriptions of all writes, in order. */
  readonly writes: readonly string[];
}

export interface SimulatedViews {
  readonly informers: Informers;
  /** Delivers the next changes to an informer. Returns whether there were any. */
  deliver(resource: StoredResource, changes: number): boolean;
}

export function createSimulatedApi(): SimulatedApi {
  const objects = new Map<StoredResource, Map<string, KubeObject>>(
    resources.map((name) => [name, new Map()]),
  );
  const logs = new Map<StoredResource, Logged[]>(resources.map((name) => [name, []]));
  const writes: string[] = [];
  let revision = 0;
  let uids = 0;
  let names = 0;

  const kept = (resource: ResourceName): StoredResource => {
    const known = resources.find((name) => name === resource);
    if (!known) throw new Error(`${resource} is not simulated`);
    return known;
  };
  const of = (resource: StoredResource) => objects.get(resource) ?? new Map<string, KubeObject>();
  const named = (resource: StoredResource) => resourceNamed(resource);

  function store(resource: StoredResource, object: KubeObject): KubeObject {
    const next = structuredClone(object);
    next.apiVersion = apiVersionOf(named(resource));
    next.kind = named(resource).kind;
    next.metadata.uid ??= `uid-${++uids}`;
    next.metadata.creationTimestamp ??= "2026-01-01T00:00:00Z";
    next.metadata.resourceVersion = String(++revision);
    of(resource).set(keyOf(next), next);
    logs.get(resource)?.push({ key: keyOf(next), object: next });
    return next;
  }

  function drop(resource: StoredResource, key: string): void {
    of(resource).delete(key);
    revision++;
    logs.get(resource)?.push({ key, object: undefined });
  }

  function existing(resource: StoredResource, key: { namespace?: string; name: string }): KubeObject {
    const found = of(resource).get(`${key.namespace}/${key.name}`);
    if (!found) throw notFound(named(resource), key.name);
    return found;
  }

  function create(resource: StoredResource, given: KubeObject): KubeObject {
    const object = structuredClone(given);
    const { generateName, name = `${generateName}${++names}` } = object.metadata;
    object.metadata.name = name;
    if (of(resource).has(keyOf(object))) throw alreadyExists(named(resource), name);
    const pod = resource === "pods" ? { status: { phase: "Pending" } } : {};
    return store(resource, { ...object, ...pod });
  }

  function update(resource: StoredResource, object: KubeObject, subresource: string | undefined): KubeObject {
    const { name = "", namespace, resourceVersion } = object.metadata;
    const before = existing(resource, { namespace, name });
    if (before.metadata.resourceVersion !== resourceVersion)
      throw conflict(named(resource), name, "modified");
    const { metadata } = object;
    const status = "status" in object ? { status: object.status } : {};
    return store(resource, subresource === "status" ? { ...before, metadata, ...status } : object);
  }

  /** A pod that was deleted and has ended exists until its last finalizer is removed. */
  function patch(resource: StoredResource, key: { namespace?: string; name: string }, body: unknown) {
    const before = existing(resource, key);
    const definition = definitionName(named(resource));
    const target = before as unknown as JsonObject;
    const patched = applyStrategicMergePatch(builtInSchema, definition, target, body as JsonObject);
    const next = store(resource, patched as unknown as KubeObject);
    const { deletionTimestamp, finalizers = [] } = next.metadata;
    if (deletionTimestamp && finalizers.length === 0 && hasEnded(next as Pod)) drop(resource, keyOf(next));
    return next;
  }

  function remove(
    resource: StoredResource,
    key: { namespace?: string; name: string },
    uid: string | undefined,
  ): void {
    const before = existing(resource, key);
    if (uid !== undefined && before.metadata.uid !== uid) throw conflict(named(resource), key.name, "uid");
    if (resource !== "pods") drop(resource, keyOf(before));
    else if (!before.metadata.deletionTimestamp) {
      const metadata = { ...before.metadata, deletionTimestamp: byController };
      store(resource, { ...before, metadata });
    }
  }

  return {
    writes,
    client(onCall) {
      async function through<T>(words: string, run: () => unknown): Promise<T> {
        onCall(words, "before");
        const response = structuredClone(run());
        writes.push(words);
        onCall(words, "after");
        return response as T;
      }
      const notSimulated = () => Promise.reject(new Error("not simulated"));
      return {
        get: async (resource, key) => structuredClone(existing(kept(resource), key)) as never,
        create: (resource, object) =>
          through(`create ${resource} ${keyOf(object)}`, () => create(kept(resource), object)),
        update: (resource, object, { subresource } = {}) =>
          through(`update ${resource} ${keyOf(object)}`, () => update(kept(resource), object, subresource)),
        delete: (resource, key, { preconditions } = {}) =>
          through(`delete ${resource} ${key.namespace}/${key.name}`, () =>
            remove(kept(resource), key, preconditions?.uid),
          ),
        patch: (resource, key, { patch: { body } }) =>
          through(`patch ${resource} ${key.namespace}/${key.name}`, () => patch(kept(resource), key, body)),
        list: notSimulated,
        watch: () => {
          throw new Error("not simulated");
        },
        deleteCollection: notSimulated,
        resource: () => {
          throw new Error("not simulated");
        },
        request: notSimulated,
        readText: notSimulated,
        close() {},
      };
    },
    get: (resource, key) => of(resource).get(key) as never,
    list: (resource) => [...of(resource).values()] as never,
    put: (resource, object) => void store(resource, object),
    remove: drop,
    openViews(lag) {
      const views = new Map(
        resources.map((resource) => {
          const log = logs.get(resource) ?? [];
          return [resource, openView(log, Math.max(0, log.length - lag(resource)))] as const;
        }),
      );
      return {
        informers: {
          of: (resource) => views.get(kept(resource))?.informer as never,
          synced: async () => {},
          run: async () => {},
        },
        deliver: (resource, changes) => views.get(resource)?.deliver(changes) ?? false,
      };
    },
  };
}

function openView(log: readonly Logged[], from: number) {
  const handlers: ((change: Change<KubeObject>) => void)[] = [];
  const cache = createObjectCache<KubeObject>(
    {
      controller: (object) => [controllerOf(object)?.uid ?? orphanedIn(object.metadata.namespace ?? "")],
      namespace: ({ metadata }) => [metadata.namespace ?? ""],
    },
    (change) => {
      for (const handle of handlers) handle(change);
    },
  );
  let at = 0;
  function take(): void {
    const logged = log[at++];
    if (!logged) return;
    const known = cache.get(logged.key);
    if (logged.object) cache.put(logged.object);
    else if (known) cache.remove(known);
  }
  while (at < from) take();
  const informer: Informer<KubeObject> = {
    get: cache.get,
    list: cache.list,
    byIndex: cache.byIndex,
    onChange: (handler) => void handlers.push(handler),
    synced: Promise.resolve(),
    run: async () => {},
  };
  return {
    informer,
    deliver(changes: number): boolean {
      const before = at;
      for (let i = 0; i < changes && at < log.length; i++) take();
      return at > before;
    },
  };
}
