import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import { apiVersionOf, type GroupVersionResource, qualifiedName } from "../../api/meta/resource.ts";

/**
 * Life cycle of a kind that is added or removed while the server runs:
 *
 *     add ──▶ adding (listeners prepare; not served yet) ──▶ added (served)
 *     remove ──▶ removed (no longer served)
 */
export interface KindChange {
  readonly type: "adding" | "added" | "removed";
  readonly definition: KindDefinition;
}

/** `add` waits for the promises that listeners return for `adding`. */
type KindChangeListener = (change: KindChange) => void | Promise<void>;

/** The kinds that an API server serves. */
export interface KindRegistry {
  find(resource: GroupVersionResource): KindDefinition | undefined;
  /** `apiVersion` is a group and version: `v1`, `apps/v1`. */
  findKind(apiVersion: string, kind: string): KindDefinition | undefined;
  /** In the order in which the kinds were added. */
  list(): readonly KindDefinition[];
  /** Resolves when the kind is served. Rejects when its resource or its kind is registered already. */
  add(definition: KindDefinition): Promise<void>;
  /** Serves a kind in place of an earlier definition of it, without an interruption. Watches of the earlier one end. */
  replace(current: KindDefinition, next: KindDefinition): Promise<void>;
  /** Stops serving a kind. Its stored objects remain in the store. */
  remove(resource: GroupVersionResource): void;
  /** Returns a function that unsubscribes. */
  onChange(listener: KindChangeListener): () => void;
}

export function createKindRegistry(kinds: readonly KindDefinition[]): KindRegistry {
  const byResource = new Map<string, KindDefinition>();
  const byKind = new Map<string, KindDefinition>();
  /** Kinds that listeners prepare, by resource and by kind. */
  const adding = new Map<string, KindDefinition>();
  const listeners = new Set<KindChangeListener>();
  let listed: readonly KindDefinition[] | undefined;

  function insert(definition: KindDefinition): void {
    byResource.set(resourceKey(definition.resource), definition);
    byKind.set(kindKey(definition), definition);
    listed = undefined;
  }

  function assertUnregistered(definition: KindDefinition): void {
    const same =
      byResource.get(resourceKey(definition.resource)) ??
      byKind.get(kindKey(definition)) ??
      adding.get(resourceKey(definition.resource)) ??
      adding.get(kindKey(definition));
    if (same) throw new Error(`${qualifiedName(same.resource)} (${kindKey(same)}) is registered already`);
  }

  for (const definition of kinds) {
    assertUnregistered(definition);
    insert(definition);
  }

  return {
    find: (resource) => byResource.get(resourceKey(resource)),
    findKind: (apiVersion, kind) => byKind.get(`${apiVersion}/${kind}`),
    list() {
      listed ??= [...byResource.values()];
      return listed;
    },
    async add(definition) {
      assertUnregistered(definition);
      const keys = [resourceKey(definition.resource), kindKey(definition)];
      for (const key of keys) adding.set(key, definition);
      try {
        await Promise.all([...listeners].map((listener) => listener({ type: "adding", definition })));
        insert(definition);
      } finally {
        for (const key of keys) adding.delete(key);
      }
      for (const listener of listeners) void listener({ type: "added", definition });
    },
    async replace(current, next) {
      const { resource } = next;
      if (byResource.get(resourceKey(resource)) !== current)
        throw new Error(`${qualifiedName(resource)} (${resource.version}) is not registered`);
      const other = byKind.get(kindKey(next));
      if (other && other !== current) throw new Error(`${kindKey(next)} is registered already`);
      await Promise.all([...listeners].map((listener) => listener({ type: "adding", definition: next })));
      byKind.delete(kindKey(current));
      insert(next);
      for (const listener of listeners) void listener({ type: "removed", definition: current });
      for (const listener of listeners) void listener({ type: "added", definition: next });
    },
    remove(resource) {
      const definition = byResource.get(resourceKey(resource));
      if (!definition) return;
      byResource.delete(resourceKey(resource));
      byKind.delete(kindKey(definition));
      listed = undefined;
      for (const listener of listeners) void listener({ type: "removed", definition });
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function resourceKey({ group, version, plural }: GroupVersionResource): string {
  return `${group}/${version}/${plural}`;
}

function kindKey({ resource }: KindDefinition): string {
  return `${apiVersionOf(resource)}/${resource.kind}`;
}
