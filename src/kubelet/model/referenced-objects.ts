// Clauses: 3085-11, 3815-5
import type { ConfigMap, Pod, Secret } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWatchedObjects } from "./watched-objects.ts";

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

export interface ReferencedObjectsOptions {
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

export interface ObjectReference {
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
