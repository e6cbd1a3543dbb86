// Clauses: 3085-11, 3815-5
import type { ConfigMap, Pod, Secret } from "../../api/meta/objects.ts";
import type { Client, ObjectTypes } from "../../client/api/client.ts";
import { createInformer, type Informer } from "../../client/informers/informer.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import { untilAborted } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";

/**
 * ConfigMaps and Secrets that pods of this node refer to. Each has its own watch, because nodes may not watch others.
 */
export interface ReferencedObjects {
  /** Undefined if the object does not exist. Throws if it cannot be read. */
  getConfigMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap | undefined>;
  getSecret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret | undefined>;
  /**
   * Watches the objects that the pod refers to while at least one pod does. May be called again with a changed spec.
   */
  register(pod: Pod): void;
  unregister(podUid: string): void;
  /**
   * Registers a handler that is called with the pod's UID when an object it refers to is created, changed or deleted.
   */
  onChange(handler: (podUid: string) => void): void;
  /** Watches until the signal aborts. Before that, every read goes to the API server. */
  run(signal: AbortSignal): Promise<void>;
}

interface ReferencedObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createReferencedObjects(options: ReferencedObjectsOptions): ReferencedObjects {
  const handlers: ((podUid: string) => void)[] = [];
  const onChange = (podUid: string) => {
    for (const handler of handlers) handler(podUid);
  };
  const configmaps = createWatchedObjects({ ...options, resource: "configmaps", onChange });
  const secrets = createWatchedObjects({ ...options, resource: "secrets", onChange });
  const watched = { configmaps, secrets };
  const references = new Map<string, readonly ObjectReference[]>();

  function drop(podUid: string, kept: readonly ObjectReference[]): void {
    for (const { resource, namespace, name } of references.get(podUid) ?? []) {
      const stays = kept.some((other) => other.resource === resource && other.name === name);
      if (!stays) watched[resource].remove(namespace, name, podUid);
    }
  }

  return {
    getConfigMap: configmaps.get,
    getSecret: secrets.get,
    register(pod) {
      const uid = pod.metadata.uid ?? "";
      const wanted = objectReferences(pod);
      for (const { resource, namespace, name } of wanted) watched[resource].add(namespace, name, uid);
      drop(uid, wanted);
      references.set(uid, wanted);
    },
    unregister(podUid) {
      drop(podUid, []);
      references.delete(podUid);
    },
    onChange: (handler) => void handlers.push(handler),
    async run(signal) {
      await Promise.all([configmaps.run(signal), secrets.run(signal)]);
    },
  };
}

interface ObjectReference {
  readonly resource: "configmaps" | "secrets";
  readonly namespace: string;
  readonly name: string;
}

/** All ConfigMaps and Secrets that a pod refers to: in volumes, environment variables and image pull secrets. */
export function objectReferences(pod: Pod): ObjectReference[] {
  const found = new Map<string, ObjectReference>();
  const namespace = pod.metadata.namespace ?? "";
  const add = (resource: ObjectReference["resource"], name: string | undefined) => {
    if (name) found.set(`${resource}/${name}`, { resource, namespace, name });
  };
  const { volumes = [], imagePullSecrets = [] } = pod.spec ?? {};
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};

  for (const { configMap, secret, projected } of volumes) {
    add("configmaps", configMap?.name);
    add("secrets", secret?.secretName);
    for (const source of projected?.sources ?? []) {
      add("configmaps", source.configMap?.name);
      add("secrets", source.secret?.name);
    }
  }
  for (const { env = [], envFrom = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { valueFrom } of env) {
      add("configmaps", valueFrom?.configMapKeyRef?.name);
      add("secrets", valueFrom?.secretKeyRef?.name);
    }
    for (const { configMapRef, secretRef } of envFrom) {
      add("configmaps", configMapRef?.name);
      add("secrets", secretRef?.name);
    }
  }
  for (const { name } of imagePullSecrets) add("secrets", name);
  return [...found.values()];
}

/** Objects of one resource, each with its own watch while at least one pod refers to it. */
interface WatchedObjects<T> {
  get(namespace: string, name: string, signal?: AbortSignal): Promise<T | undefined>;
  add(namespace: string, name: string, podUid: string): void;
  remove(namespace: string, name: string, podUid: string): void;
  run(signal: AbortSignal): Promise<void>;
}

interface WatchedObjectsOptions<Name> {
  readonly resource: Name;
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onChange: (podUid: string) => void;
}

type State<T> =
  /** Versions that pods have read before the first list; if the list has another version, the pods are notified. */
  | { readonly kind: "unsynced"; readonly read: Set<string> }
  | { readonly kind: "synced" }
  /** An immutable object needs no watch. */
  | { readonly kind: "immutable"; readonly object: T };

interface Entry<T> {
  readonly key: string;
  readonly pods: Set<string>;
  readonly informer: Informer<T>;
  readonly stop: AbortController;
  state: State<T>;
}

function createWatchedObjects<Name extends "configmaps" | "secrets">(
  options: WatchedObjectsOptions<Name>,
): WatchedObjects<ObjectTypes[Name]> {
  type T = ObjectTypes[Name];
  const { client, resource, onChange } = options;
  const entries = new Map<string, Entry<T>>();
  const watches = new Set<Promise<void>>();
  let running: AbortSignal | undefined;

  function createEntry(namespace: string, name: string): Entry<T> {
    const fieldSelector = `metadata.name=${name}`;
    const informer = createInformer({ ...options, namespace, fieldSelector });
    const entry: Entry<T> = {
      key: `${namespace}/${name}`,
      pods: new Set(),
      informer,
      stop: new AbortController(),
      state: { kind: "unsynced", read: new Set() },
    };
    informer.onChange(() => {
      if (entry.state.kind === "synced") notifyPods(entry);
    });
    informer.synced.then(
      () => firstListed(entry),
      () => {},
    );
    return entry;
  }

  function firstListed(entry: Entry<T>): void {
    const { state } = entry;
    if (state.kind !== "unsynced") return;
    entry.state = { kind: "synced" };
    const object = entry.informer.get(entry.key);
    pinIfImmutable(entry, object);
    if ([...state.read].some((version) => version !== versionOf(object))) notifyPods(entry);
  }

  function pinIfImmutable(entry: Entry<T>, object: T | undefined): void {
    if (!object?.immutable) return;
    entry.state = { kind: "immutable", object };
    entry.stop.abort();
  }

  function notifyPods(entry: Entry<T>): void {
    pinIfImmutable(entry, entry.informer.get(entry.key));
    for (const podUid of entry.pods) onChange(podUid);
  }

  function start(entry: Entry<T>): void {
    if (!running || running.aborted || entry.stop.signal.aborted) return;
    const watch = entry.informer.run(entry.stop.signal);
    watches.add(watch);
    void watch.finally(() => watches.delete(watch));
  }

  function known(entry: Entry<T> | undefined): T | undefined {
    if (entry?.state.kind === "immutable") return entry.state.object;
    return entry?.state.kind === "synced" ? entry.informer.get(entry.key) : undefined;
  }

  return {
    async get(namespace, name, signal) {
      const entry = entries.get(`${namespace}/${name}`);
      // A cached absence may be outdated while a pod waits for the object, so the API server is asked each time.
      const object = known(entry) ?? (await read(namespace, name, signal));
      if (entry?.state.kind === "unsynced") {
        entry.state.read.add(versionOf(object));
        pinIfImmutable(entry, object);
      }
      return object;
    },
    add(namespace, name, podUid) {
      const entry = entries.get(`${namespace}/${name}`) ?? createEntry(namespace, name);
      entry.pods.add(podUid);
      if (entries.has(entry.key)) return;
      entries.set(entry.key, entry);
      start(entry);
    },
    remove(namespace, name, podUid) {
      const entry = entries.get(`${namespace}/${name}`);
      entry?.pods.delete(podUid);
      if (!entry || entry.pods.size > 0) return;
      entry.stop.abort();
      entries.delete(entry.key);
    },
    async run(signal) {
      running = signal;
      for (const entry of entries.values()) start(entry);
      await untilAborted(signal);
      for (const { stop } of entries.values()) stop.abort(signal.reason);
      await Promise.all(watches);
    },
  };

  async function read(namespace: string, name: string, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return await client.get(resource, { namespace, name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** Empty for a missing object. */
function versionOf(object: { metadata: { resourceVersion?: string } } | undefined): string {
  return object?.metadata.resourceVersion ?? "";
}
