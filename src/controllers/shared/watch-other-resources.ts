import type { KubeObject } from "../../api/meta/objects.ts";
import { apiVersionOf } from "../../api/meta/resource.ts";
import type { Client } from "../../client/api/client.ts";
import { type ResourceAddress, resourceOfKind } from "../../client/api/resource-path.ts";
import { type Change, createResourceInformer } from "../../client/informers/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { discoverResources, type ServedResource } from "./discover-resources.ts";

interface WatchDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each change. Objects have only the metadata that ownership depends on. */
  onChange(resource: ResourceAddress, change: Change<KubeObject>): void;
  /** Called when all objects of a resource have been reported once. Default: nothing. */
  onSynced?(resource: ResourceAddress): void;
}

/** Definitions of custom resources. They are watched here, with their metadata only, because they are large. */
const definitions = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

/** Interval after which resources are discovered again: those of aggregated API servers have no definitions. */
const discoveryIntervalMs = 30_000;
/** Delay of the discovery after a change of a definition, so that many changes cause one. */
const settleMs = 50;

interface Watched {
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/**
 * Watches the objects of all resources that are not built in until the signal aborts. Custom resources come and go with their
 * definitions, so that resources are discovered again whenever a definition changes.
 */
export async function watchOtherResources(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, logger } = deps;
  const watched = new Map<string, Watched>();
  let wake = () => {};
  let changed = true;

  function watch(resource: ResourceAddress, onChange: (change: Change<KubeObject>) => void): Watched {
    const stop = new AbortController();
    const informer = createResourceInformer<KubeObject>({
      client: client.resource<KubeObject>(resource),
      resource: keyOf(resource),
      clock,
      logger,
      trim: ownershipOf,
    });
    informer.onChange(onChange);
    void informer.synced.then(
      () => deps.onSynced?.(resource),
      () => {},
    );
    const run = informer.run(AbortSignal.any([signal, stop.signal])).then(() => {
      if (signal.aborted) return;
      // The resource is no longer served: its objects are gone.
      for (const object of informer.list()) onChange({ kind: "deleted", object } as Change<KubeObject>);
    });
    return { stop, done: run };
  }

  async function discover(): Promise<void> {
    const served = new Map(
      (await discoverResources(client, signal))
        .filter(isCollected)
        .map((resource) => [keyOf(resource), resource]),
    );
    for (const [key, { stop, done }] of watched) {
      if (served.has(key)) continue;
      watched.delete(key);
      stop.abort();
      await done;
    }
    for (const [key, resource] of served) {
      if (watched.has(key)) continue;
      watched.set(
        key,
        watch(resource, (change) => deps.onChange(resource, change)),
      );
    }
  }

  const definitionWatch = watch(definitions, (change) => {
    deps.onChange(definitions, change);
    changed = true;
    wake();
  });
  signal.addEventListener("abort", () => wake(), { once: true });
  while (!signal.aborted) {
    try {
      changed = false;
      await discover();
    } catch (error) {
      if (!signal.aborted) logger.warn("resources were not discovered; trying again", { error });
    }
    if (!changed && !signal.aborted) {
      const waiting = new AbortController();
      const changes = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([changes, clock.sleep(discoveryIntervalMs, waiting.signal).catch(() => {})]);
      waiting.abort();
    }
    await clock.sleep(settleMs, signal).catch(() => {});
  }
  await Promise.all([definitionWatch.done, ...[...watched.values()].map(({ done }) => done)]);
}

function isCollected({ verbs, ...resource }: ServedResource): boolean {
  return (
    ["list", "watch", "delete"].every((verb) => verbs.includes(verb)) &&
    resourceOfKind(apiVersionOf(resource), resource.kind ?? "") === undefined
  );
}

function keyOf({ group, version, plural }: ResourceAddress): string {
  return `${plural}.${version}.${group}`;
}

function ownershipOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp },
  };
}
