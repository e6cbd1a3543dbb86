import type { KubeObject, OwnerReference } from "../../api/objects.ts";
import type { Informer } from "../../client/informer.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import {
  deleteItem,
  dropReferences,
  getLive,
  orphanDependents,
  removeFinalizer,
  unblockOwners,
} from "./collect-item.ts";
import { collectedResources } from "./collected-resources.ts";
import { decideCollection, lookAt } from "./decide-item.ts";
import { createOwnerFinder, ImpossibleOwner } from "./find-owners.ts";
import { createOwnerGraph, foregroundFinalizer, type GraphNode, orphanFinalizer } from "./owner-graph.ts";

/** How soon an owner is asked for again that the API has and no informer has shown yet, or ever will. */
const unseenOwnerMs = 30_000;

/**
 * Deletes what belongs to nobody any more.
 *
 *     informers → owner graph → uids → lookAt ─┬─ orphan, release
 *                                              └─ askForOwners → live GETs → decideCollection → delete or patch
 */
export async function runGarbageCollector(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers } = context;
  const logger = context.logger.component("garbage-collector");
  const recorder = context.recorder("garbage-collector-controller");
  const graph = createOwnerGraph();
  const owners = createOwnerFinder(client);

  /** Another namespace than the owner's is a mistake that people should hear of. */
  function reportStrayReferences(item: GraphNode, object: KubeObject): void {
    for (const reference of item.owners) {
      const owner = graph.get(reference.uid);
      if (!owner?.namespace || owner.namespace === item.namespace) continue;
      const message = `ownerRef ${describe(reference, item.namespace)} does not exist in namespace "${item.namespace}"`;
      recorder.record(object, { type: "Warning", reason: "OwnerRefInvalidNamespace", message });
    }
  }

  async function collect(item: GraphNode): Promise<Reconciled> {
    const live = await getLive(client, item, signal);
    // Gone, or about to go: its informer tells of it soon.
    if (!live || live.metadata.deletionTimestamp !== undefined) return undefined;
    reportStrayReferences(item, live);
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
        return references.some(({ uid }) => !graph.get(uid)) ? { againAfterMs: unseenOwnerMs } : undefined;
      case "dropReferences":
        await dropReferences(client, item, { owners: decision.uids, signal });
        return undefined;
      case "delete": {
        const { resource, namespace, name } = item;
        logger.debug("deleting what nobody owns any more", { resource, namespace, name });
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
    const look = lookAt(item, graph);
    switch (look.kind) {
      case "nothing":
        return undefined;
      case "orphan":
        await orphanDependents(client, { owner: uid, dependents: look.dependents, signal });
        await removeFinalizer(client, item, { finalizer: orphanFinalizer, signal });
        return undefined;
      case "release":
        await removeFinalizer(client, item, { finalizer: foregroundFinalizer, signal });
        return undefined;
      case "askForOwners":
        try {
          return await collect(item);
        } catch (error) {
          if (!(error instanceof ImpossibleOwner)) throw error;
          logger.warn("left an object alone", { ...item, error });
          return undefined;
        }
    }
  }

  await runController(
    context,
    {
      name: "garbage-collector",
      concurrency: 20,
      watch(queue) {
        for (const resource of collectedResources) {
          const informer: Informer<KubeObject> = informers.of(resource);
          informer.onChange(({ kind, object }) => {
            if (kind === "deleted") {
              if (graph.dependentsOf(object.metadata.uid ?? "").length > 0) owners.noteGone(object);
              for (const uid of graph.forget(object)) queue.add(uid);
            } else for (const uid of graph.observe(resource, object)) queue.add(uid);
          });
        }
      },
      reconcile,
    },
    signal,
  );
}

function describe({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string {
  return `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
}
