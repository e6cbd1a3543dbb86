import { controllerOf } from "../../api/meta/object-facts.ts";
import type { Client, ObjectTypes, ResourceName } from "../../client/api/client.ts";
import { createInformer, type Informer } from "../../client/informers/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";

/** Informers shared by all controllers, one per resource. */
export interface Informers {
  /**
   * Returns the informer of a resource, indexed by `controller` (uid of the controlling owner, or `orphanedIn(namespace)`)
   * and by `namespace`. The first call for a resource must precede `run`.
   */
  of<Name extends ResourceName>(resource: Name): Informer<ObjectTypes[Name]>;
  /** Resolves when every requested informer has its first list. */
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
    if (running)
      throw new Error(`informer for ${resource} was not requested before the informers were started`);
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

/** Value of the index `controller` for objects without a controlling owner. */
export function orphanedIn(namespace: string): string {
  return `orphans/${namespace}`;
}
