import type { ConfigMap, Pod, Secret } from "../api/objects.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { type ObjectReference, objectReferences } from "./object-references.ts";
import { createWatchedObjects } from "./watched-objects.ts";

/** The config maps and secrets that the pods of this node name, each watched by itself: a node may see no others. */
export interface ReferencedObjects {
  /** Undefined when there is none. Throws what keeps it from being read. */
  getConfigMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap | undefined>;
  getSecret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret | undefined>;
  /** Watches what the pod names, as long as some pod does. Again, with the same spec or another, is fine. */
  register(pod: Pod): void;
  unregister(podUid: string): void;
  /** Called with a pod's uid when an object that it names has come, changed or gone. */
  onChange(handler: (podUid: string) => void): void;
  /** Watches until the signal aborts. Before that every read goes to the API. */
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
