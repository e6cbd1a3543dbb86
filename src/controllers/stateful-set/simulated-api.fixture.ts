import { controllerOf } from "../../api/controller-reference.ts";
import type { KubeObject } from "../../api/objects.ts";
import { apiVersionOf } from "../../api/resources.ts";
import { alreadyExists, conflict, notFound } from "../../api/status-error.ts";
import type { Client, ObjectTypes, ResourceName } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import { type Change, createObjectCache } from "../../client/object-cache.ts";
import { keyOf } from "../../client/object-key.ts";
import { resourceNamed } from "../../client/resource-path.ts";
import { type Informers, orphanedIn } from "../informers.ts";

/** The controller's process ends here. */
export class Crash extends Error {}

/** When pods go that the controller deletes; others go at other times. */
export const byController = "2026-01-02T00:00:00Z";

interface Logged {
  readonly key: string;
  /** Undefined when it was deleted. */
  readonly object: KubeObject | undefined;
}

const resources = ["statefulsets", "pods", "persistentvolumeclaims", "controllerrevisions"] as const;
type Kept = (typeof resources)[number];

/**
 * As much of an API server as a StatefulSet controller sees, with a log of what happened to each kind: a view of it may
 * lag as far behind as one likes.
 */
export interface SimulatedApi {
  /** Hears of each write before and after it is done, and may crash. */
  client(onCall: (call: string, when: "before" | "after") => void): Client;
  /** Views that begin this many changes ago, kind by kind. */
  openViews(lag: (resource: Kept) => number): SimulatedViews;
  get<Name extends Kept>(resource: Name, key: string): ObjectTypes[Name] | undefined;
  list<Name extends Kept>(resource: Name): readonly ObjectTypes[Name][];
  /** From outside: a user, or a kubelet. */
  put<Name extends Kept>(resource: Name, object: ObjectTypes[Name]): void;
  remove(resource: Kept, key: string): void;
  /** Of every write, in words. */
  readonly writes: readonly string[];
}

export interface SimulatedViews {
  readonly informers: Informers;
  /** Lets a view take in the next changes; answers whether there were any. */
  deliver(resource: Kept, changes: number): boolean;
}

export function createSimulatedApi(): SimulatedApi {
  const objects = new Map<Kept, Map<string, KubeObject>>(resources.map((name) => [name, new Map()]));
  const logs = new Map<Kept, Logged[]>(resources.map((name) => [name, []]));
  const writes: string[] = [];
  let revision = 0;
  let uids = 0;

  const kept = (resource: ResourceName): Kept => {
    const known = resources.find((name) => name === resource);
    if (!known) throw new Error(`nothing is kept of ${resource}`);
    return known;
  };
  const of = (resource: Kept) => objects.get(resource) ?? new Map<string, KubeObject>();
  const named = (resource: Kept) => resourceNamed(resource);

  function store(resource: Kept, object: KubeObject): KubeObject {
    const next = structuredClone(object);
    next.apiVersion = apiVersionOf(named(resource));
    next.kind = named(resource).kind;
    next.metadata.uid ??= `uid-${++uids}`;
    next.metadata.resourceVersion = String(++revision);
    of(resource).set(keyOf(next), next);
    logs.get(resource)?.push({ key: keyOf(next), object: next });
    return next;
  }

  function drop(resource: Kept, key: string): void {
    of(resource).delete(key);
    revision++;
    logs.get(resource)?.push({ key, object: undefined });
  }

  function existing(resource: Kept, key: { namespace?: string; name: string }): KubeObject {
    const found = of(resource).get(`${key.namespace}/${key.name}`);
    if (!found) throw notFound(named(resource), key.name);
    return found;
  }

  function create(resource: Kept, object: KubeObject): KubeObject {
    const { name = "" } = object.metadata;
    if (of(resource).has(keyOf(object))) throw alreadyExists(named(resource), name);
    const pod = resource === "pods" ? { status: { phase: "Pending" } } : {};
    return store(resource, { ...object, ...pod });
  }

  function update(resource: Kept, object: KubeObject, subresource: string | undefined): KubeObject {
    const { name = "", namespace, resourceVersion } = object.metadata;
    const before = existing(resource, { namespace, name });
    if (before.metadata.resourceVersion !== resourceVersion)
      throw conflict(named(resource), name, "modified");
    const status = "status" in object ? { status: object.status } : {};
    return store(resource, subresource === "status" ? { ...before, ...status } : object);
  }

  function remove(resource: Kept, key: { namespace?: string; name: string }, uid: string | undefined): void {
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
        const answer = structuredClone(run());
        writes.push(words);
        onCall(words, "after");
        return answer as T;
      }
      const absent = () => Promise.reject(new Error("not simulated"));
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
        patch: absent,
        list: absent,
        watch: () => {
          throw new Error("not simulated");
        },
        deleteCollection: absent,
        request: absent,
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
