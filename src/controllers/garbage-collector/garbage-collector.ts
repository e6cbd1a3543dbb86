import type { KubeObject, OwnerReference } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import {
  objectPath,
  type ResourceAddress,
  resourceNamed,
  resourceNames,
  resourceOfKind,
} from "../../client/api/resource-path.ts";
import type { Change, Informer } from "../../client/informers/informer.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import { discoverGroupVersion } from "../shared/discover-resources.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { watchOtherResources } from "../shared/watch-other-resources.ts";
import {
  deleteItem,
  dropReferences,
  getLive,
  orphanDependents,
  removeFinalizer,
  unblockOwners,
} from "./collect-item.ts";
import {
  createOwnerGraph,
  decideCollection,
  deletionOf,
  foregroundFinalizer,
  type GraphNode,
  nextGraphStep,
  type OwnerState,
  orphanFinalizer,
} from "./owner-graph.ts";

/** A cluster-scoped object names a namespaced owner, which cannot exist. */
class ImpossibleOwner extends Error {}

interface OwnerFinder {
  /** Gets the owner from the API unless it is known to be gone. */
  stateOf(reference: OwnerReference, namespace: string, signal: AbortSignal): Promise<OwnerState>;
  /** Records that an object is gone, so that its dependents need no request. */
  recordGone(object: KubeObject): void;
}

/** Number of absent owners to remember, as upstream. */
const maxAbsentOwners = 500;

function createOwnerFinder(client: Pick<Client, "request">): OwnerFinder {
  const absent = createLruMap<true>(maxAbsentOwners);

  /** Resources of kinds that are not built in are discovered each time: such owners are rare, and kinds may change. */
  async function addressOf(
    { apiVersion, kind }: OwnerReference,
    signal: AbortSignal,
  ): Promise<ResourceAddress> {
    const known = resourceOfKind(apiVersion, kind);
    if (known) return known;
    const served = await discoverGroupVersion(client, apiVersion, signal);
    const found = served.find((resource) => resource.kind === kind);
    if (!found) throw new Error(`unable to get REST mapping for ${apiVersion}/${kind}.`);
    return found;
  }

  return {
    async stateOf(reference, namespace, signal) {
      const { apiVersion, kind, name, uid } = reference;
      const key = absentKey({ apiVersion, kind, namespace, name, uid });
      const clusterWide = absentKey({ apiVersion, kind, namespace: "", name, uid });
      if (absent.get(key) ?? absent.get(clusterWide)) return "dangling";
      const address = await addressOf(reference, signal);
      if (address.namespaced && !namespace) {
        throw new ImpossibleOwner("cluster-scoped objects cannot refer to namespaced owners");
      }
      const path = objectPath(address, { namespace, name });
      const owner = await client.request<KubeObject>("GET", path, { signal }).catch(undefinedIfMissing);
      if (owner?.metadata.uid === uid)
        return deletionOf(owner.metadata) === "foreground" ? "waiting" : "solid";
      absent.set(address.namespaced ? key : clusterWide, true);
      return "dangling";
    },
    recordGone({ apiVersion, kind, metadata: { namespace = "", name = "", uid = "" } }) {
      absent.set(absentKey({ apiVersion, kind, namespace, name, uid }), true);
    },
  };
}

function absentKey(identity: {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
}): string {
  const { apiVersion, kind, namespace, name, uid } = identity;
  return `${apiVersion} ${kind} ${namespace}/${name} ${uid}`;
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/**
 * Built-in resources that the garbage collector watches: all except events, which are numerous and have no owners.
 * `watchOtherResources` watches definitions of custom resources, and these.
 */
const collectedResources = resourceNames.filter(
  (name) => name !== "events" && resourceNamed(name).group !== "apiextensions.k8s.io",
);

/** Requeue delay while an owner exists in the API but not in an informer. */
const unobservedOwnerRequeueMs = 30_000;

/**
 * Runs the garbage collector, which deletes objects whose owners are gone, until the signal aborts.
 *
 *     informers → owner graph → uids → nextGraphStep ─┬─ orphan, release
 *                                                     └─ checkOwners → live GETs → decideCollection → delete or patch
 */
export async function runGarbageCollector(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers } = context;
  const logger = context.logger.component("garbage-collector");
  const recorder = context.recorder("garbage-collector-controller");
  const graph = createOwnerGraph();
  const owners = createOwnerFinder(client);

  /** Records an event for owner references to another namespace. */
  function reportInvalidReferences(item: GraphNode, object: KubeObject): void {
    for (const reference of item.owners) {
      const owner = graph.get(reference.uid);
      if (!owner?.namespace || owner.namespace === item.namespace) continue;
      const message = `ownerRef ${describe(reference, item.namespace)} does not exist in namespace "${item.namespace}"`;
      recorder.record(object, { type: "Warning", reason: "OwnerRefInvalidNamespace", message });
    }
  }

  async function collect(item: GraphNode): Promise<Reconciled> {
    const live = await getLive(client, item, signal);
    // Deleted or being deleted: the informer will report it.
    if (!live || live.metadata.deletionTimestamp !== undefined) return undefined;
    reportInvalidReferences(item, live);
    const references = live.metadata.ownerReferences ?? [];
    const classified = await Promise.all(
      references.map(async (reference) => ({
        reference,
        state: await owners.stateOf(reference, item.namespace, signal),
      })),
    );
    const dependents = graph.dependentsOf(item.uid);
    const decision = decideCollection({ metadata: live.metadata, owners: classified, dependents });
    switch (decision.kind) {
      case "keep":
        return references.some(({ uid }) => !graph.get(uid))
          ? { requeueAfterMs: unobservedOwnerRequeueMs }
          : undefined;
      case "dropReferences":
        await dropReferences(client, item, { owners: decision.uids, signal });
        return undefined;
      case "delete": {
        const { resource, namespace, name } = item;
        logger.debug("deleting an object whose owners are gone", {
          resource: resource.plural,
          namespace,
          name,
        });
        await deleteItem(client, item, {
          live: decision.unblockOwners ? await unblockOwners(client, item, signal) : live,
          policy: decision.propagationPolicy,
          signal,
        });
        return undefined;
      }
    }
  }

  async function reconcile(uid: string): Promise<Reconciled> {
    const item = graph.get(uid);
    if (!item) return undefined;
    const step = nextGraphStep(item, graph);
    switch (step.kind) {
      case "nothing":
        return undefined;
      case "orphan":
        await orphanDependents(client, { owner: uid, dependents: step.dependents, signal });
        await removeFinalizer(client, item, { finalizer: orphanFinalizer, signal });
        return undefined;
      case "release":
        await removeFinalizer(client, item, { finalizer: foregroundFinalizer, signal });
        return undefined;
      case "checkOwners":
        try {
          return await collect(item);
        } catch (error) {
          if (!(error instanceof ImpossibleOwner)) throw error;
          logger.warn("ignored an object with an invalid owner reference", { ...item, error });
          return undefined;
        }
    }
  }

  let others: Promise<void> | undefined;
  await runController(
    context,
    {
      name: "garbage-collector",
      concurrency: 20,
      watch(queue) {
        const onChange = (resource: ResourceAddress, { kind, object }: Change<KubeObject>) => {
          if (kind === "deleted") {
            if (graph.dependentsOf(object.metadata.uid ?? "").length > 0) owners.recordGone(object);
            for (const uid of graph.remove(object)) queue.add(uid);
          } else for (const uid of graph.observe(resource, object)) queue.add(uid);
        };
        for (const name of collectedResources) {
          const informer: Informer<KubeObject> = informers.of(name);
          informer.onChange((change) => onChange(resourceNamed(name), change));
        }
        others = watchOtherResources({ client, clock: context.clock, logger, onChange }, signal);
      },
      reconcile,
    },
    signal,
  );
  await others;
}

function describe({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string {
  return `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
}
