import { controllerOf } from "../api/controller-reference.ts";
import type { Client, ObjectTypes, ResourceName } from "../client/client.ts";
import { createInformer, type Informer } from "../client/informer.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** One informer for each kind, however many controllers look at it. */
export interface Informers {
  /**
   * Indexed by `controller` (the uid of the one in charge, `orphanedIn(namespace)` for those without) and `namespace`.
   * The first call for a kind must come before `run`.
   */
  of<Name extends ResourceName>(resource: Name): Informer<ObjectTypes[Name]>;
  /** When all that were asked for have their first list. */
  synced(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

type AnyInformer = { [Name in ResourceName]: Informer<ObjectTypes[Name]> };

export function createInformers(deps: {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
}): Informers {
  const informers: Partial<AnyInformer> = {};
  let running = false;

  function create<Name extends ResourceName>(resource: Name): Informer<ObjectTypes[Name]> {
    if (running) throw new Error(`nobody asked for ${resource} before the informers ran`);
    return createInformer({
      ...deps,
      resource,
      indexes: {
        controller: (object) => [controllerOf(object)?.uid ?? orphanedIn(object.metadata.namespace ?? "")],
        namespace: ({ metadata }) => (metadata.namespace ? [metadata.namespace] : []),
      },
    });
  }

  return {
    of(resource) {
      const known: Informer<ObjectTypes[typeof resource]> | undefined = informers[resource];
      if (known) return known;
      const informer = create(resource);
      Object.assign(informers, { [resource]: informer });
      return informer;
    },
    async synced() {
      await Promise.all(Object.values(informers).map((informer) => informer.synced));
    },
    async run(signal) {
      running = true;
      await Promise.all(Object.values(informers).map((informer) => informer.run(signal)));
    },
  };
}

/** Under which value of the index `controller` objects are that nobody is in charge of. */
export function orphanedIn(namespace: string): string {
  return `orphans/${namespace}`;
}
