import type { KubeObject } from "../../api/meta/objects.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Client, ObjectTypes, ResourceClient, ResourceName, Selection } from "../api/client.ts";
import { type Change, createObjectCache, type ObjectCache } from "./object-cache.ts";
import { type ConnectionState, reflect } from "./reflector.ts";

export type { Change };

export interface InformerOptions<Name extends ResourceName>
  extends Omit<Selection, "signal">,
    CacheOptions<ObjectTypes[Name]> {
  readonly client: Client;
  readonly resource: Name;
}

interface CacheOptions<T> {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Reduces objects before they are cached; must keep name, resourceVersion and uid. Default: the whole object. Objects
   * never have managedFields, which are half of many objects; the API server keeps them when an update leaves them out.
   */
  readonly trim?: (object: T) => T;
  /** Index functions by name: each returns the values under which `byIndex` finds the object. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Called when the API server has answered a list or accepted a watch, and when it could not be reached. */
  readonly onConnection?: (state: ConnectionState) => void;
}

/** Options of an informer for a resource that the typed client does not know. */
interface ResourceInformerOptions<T extends KubeObject> extends CacheOptions<T> {
  readonly client: Pick<ResourceClient<T>, "list" | "watch">;
  /** Name of the resource in log messages. */
  readonly resource: string;
}

/** Read-only local cache of one resource, kept up to date by list and watch. */
export interface Informer<T> {
  /** By `namespace/name`, or `name` for cluster-scoped objects. */
  get(key: string): T | undefined;
  list(): Iterable<T>;
  byIndex(index: string, value: string): readonly T[];
  /** Registers a handler before `run`. It is called once per change, in order; a gap in the watch shows as its net effect. */
  onChange(handler: (change: Change<T>) => void): void;
  /** Resolves after the handlers were called for the first list; rejects when `run` ends before that. */
  readonly synced: Promise<void>;
  /** Lists and watches until the signal aborts. Retries after all failures. */
  run(signal: AbortSignal): Promise<void>;
}

export function createInformer<Name extends ResourceName>(
  options: InformerOptions<Name>,
): Informer<ObjectTypes[Name]> {
  const { client, resource, namespace, labelSelector, fieldSelector, ...cacheOptions } = options;
  const selected = { namespace, labelSelector, fieldSelector };
  return createResourceInformer({
    ...cacheOptions,
    resource,
    client: {
      list: (page) => client.list(resource, { ...selected, ...page }),
      watch: (start) => client.watch(resource, { ...selected, ...start }),
    },
  });
}

/** As `createInformer`, for any resource: that of a CustomResourceDefinition, for example. */
export function createResourceInformer<T extends KubeObject>(
  options: ResourceInformerOptions<T>,
): Informer<T> {
  const { client, resource, clock, logger, indexes = {}, trim, onConnection } = options;
  const handlers: ((change: Change<T>) => void)[] = [];
  let settle: { resolve(): void; reject(reason: unknown): void } | undefined;
  const synced = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Avoids an unhandled rejection when `synced` is not awaited.
  synced.catch(() => {});

  const cache = createObjectCache<T>(indexes, (change) => {
    for (const handle of handlers) {
      try {
        handle(change);
      } catch (error) {
        logger.error("an informer handler failed", { resource, change: change.kind, error });
      }
    }
  });

  return {
    get: cache.get,
    list: cache.list,
    byIndex: cache.byIndex,
    onChange: (handler) => void handlers.push(handler),
    synced,
    async run(signal) {
      await reflect(
        {
          list: client.list,
          watch: client.watch,
          cache: trimming(cache, (object) => {
            delete object.metadata.managedFields;
            return trim ? trim(object) : object;
          }),
          onListed: () => settle?.resolve(),
          onConnection,
          clock,
          logger,
          resource,
        },
        signal,
      );
      settle?.reject(signal.reason);
    },
  };
}

/** Trims objects before they are cached and passed to handlers. */
function trimming<T>(
  { put, remove, beginList }: Pick<ObjectCache<T>, "put" | "remove" | "beginList">,
  trim: (object: T) => T,
) {
  return {
    put: (object: T) => put(trim(object)),
    remove: (object: T) => remove(trim(object)),
    beginList() {
      const { add, complete } = beginList();
      return { add: (object: T) => add(trim(object)), complete };
    },
  };
}
