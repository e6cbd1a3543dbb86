import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Client, ObjectTypes, ResourceName, Selection } from "./client.ts";
import { type Change, createObjectCache, type ObjectCache } from "./object-cache.ts";
import { reflect } from "./reflector.ts";

export type { Change };

export interface InformerOptions<Name extends ResourceName> extends Omit<Selection, "signal"> {
  readonly client: Client;
  readonly resource: Name;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What to keep of each object, its name, version and uid at least; all of it unless told. */
  readonly trim?: (object: ObjectTypes[Name]) => ObjectTypes[Name];
  /** Named functions from an object to the values under which `byIndex` finds it. */
  readonly indexes?: Readonly<Record<string, (object: ObjectTypes[Name]) => readonly string[]>>;
}

/** A read-only copy of what the API has of one kind, kept current. */
export interface Informer<T> {
  /** By `namespace/name`, or `name` for what has no namespace. */
  get(key: string): T | undefined;
  list(): Iterable<T>;
  byIndex(index: string, value: string): readonly T[];
  /** Before `run`. Called once for each change, in order; after a lost connection too (a gap shows as its net effect). */
  onChange(handler: (change: Change<T>) => void): void;
  /** Resolves once the first list is in and its handlers have been called; rejects when `run` ends before that. */
  readonly synced: Promise<void>;
  /** Until the signal aborts. Lists, watches, and goes on after every kind of failure. */
  run(signal: AbortSignal): Promise<void>;
}

export function createInformer<Name extends ResourceName>(
  options: InformerOptions<Name>,
): Informer<ObjectTypes[Name]> {
  const { client, resource, clock, logger, indexes = {}, trim, ...selection } = options;
  const { namespace, labelSelector, fieldSelector } = selection;
  const selected = { namespace, labelSelector, fieldSelector };
  const handlers: ((change: Change<ObjectTypes[Name]>) => void)[] = [];
  let settle: { resolve(): void; reject(reason: unknown): void } | undefined;
  const synced = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Not everybody waits for it.
  synced.catch(() => {});

  const cache = createObjectCache<ObjectTypes[Name]>(indexes, (change) => {
    for (const handle of handlers) {
      try {
        handle(change);
      } catch (error) {
        logger.error("a handler failed", { resource, change: change.kind, error });
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
          list: (page) => client.list(resource, { ...selected, ...page }),
          watch: (start) => client.watch(resource, { ...selected, ...start }),
          cache: trim ? trimming(cache, trim) : cache,
          onListed: () => settle?.resolve(),
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

/** Trims before anything is kept or told. */
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
