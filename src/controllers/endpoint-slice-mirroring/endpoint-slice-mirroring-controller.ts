import type { EndpointSlice } from "../../api/meta/objects.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import { isConflict, isNamespaceTerminating, isNotFound } from "../../client/transport/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { decideMirror, managedByLabel, mirrorName, serviceNameLabel } from "./decide-mirror.ts";

/** Time for the informer to observe what was written, before the next decision. */
const settleMs = 100;

/** Runs the EndpointSlice mirroring controller until the signal aborts. */
export async function runEndpointSliceMirroringController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, informers } = context;
  const services = informers.of("services");
  const endpoints = informers.of("endpoints");
  const slices = informers.of("endpointslices");
  /** Time of the last write by key: a decision from a stale cache would create a slice twice. */
  const writtenAt = new Map<string, number>();

  async function reconcile(key: string): Promise<Reconciled> {
    const waitMs = (writtenAt.get(key) ?? Number.NEGATIVE_INFINITY) + settleMs - clock.now();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    writtenAt.delete(key);
    const [namespace = "", name = ""] = key.split("/");
    const current = slices
      .byIndex("namespace", namespace)
      .filter((slice) => isOwn(slice) && slice.metadata.labels?.[serviceNameLabel] === name);
    const { create, update, remove } = decideMirror(endpoints.get(key), services.get(key), current);
    if (create.length + update.length + remove.length === 0) return undefined;
    try {
      for (const slice of create) await client.create("endpointslices", slice, { signal });
      for (const slice of update) await client.update("endpointslices", slice, { signal });
      for (const { metadata } of remove) {
        const preconditions = { uid: metadata.uid };
        await client.delete(
          "endpointslices",
          { namespace, name: metadata.name ?? "" },
          { preconditions, signal },
        );
      }
    } catch (error) {
      // The change that caused this requeues the key.
      if (!isConflict(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error;
    }
    writtenAt.set(key, clock.now());
    return { requeueAfterMs: settleMs };
  }

  await runController(
    context,
    {
      name: "endpoint-slice-mirroring",
      watch(queue) {
        services.onChange(({ object }) => queue.add(keyOf(object)));
        endpoints.onChange(({ object }) => queue.add(keyOf(object)));
        slices.onChange(({ object }) => {
          const { namespace, labels } = object.metadata;
          if (isOwn(object)) queue.add(`${namespace}/${labels?.[serviceNameLabel] ?? ""}`);
        });
      },
      reconcile,
    },
    signal,
  );
}

function isOwn({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.[managedByLabel] === mirrorName;
}
