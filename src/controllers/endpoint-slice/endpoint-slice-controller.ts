import type { EndpointSlice, Service } from "../../api/objects.ts";
import { keyOf } from "../../client/object-key.ts";
import { isConflict, isNamespaceTerminating, isNotFound } from "../../client/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { selectsPods } from "../service-pods/endpoint-pod.ts";
import { podsBehind, watchServicePods } from "../service-pods/watch-service-pods.ts";
import {
  controllerName,
  decideSlices,
  managedByLabel,
  type SlicePlan,
  serviceNameLabel,
} from "./decide-slices.ts";
import { createWrittenSlices, patienceMs } from "./written-slices.ts";

/** Keeps the addresses of each service's pods in slices. */
export async function runEndpointSliceController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("endpoint-slice-controller");
  const services = informers.of("services");
  const nodes = informers.of("nodes");
  const slices = informers.of("endpointslices");
  const written = createWrittenSlices();

  function slicesOf(service: Service): EndpointSlice[] {
    return slices
      .byIndex("namespace", service.metadata.namespace ?? "")
      .filter(
        ({ metadata: { labels } }) =>
          labels?.[serviceNameLabel] === service.metadata.name && labels?.[managedByLabel] === controllerName,
      );
  }

  async function carryOut(service: Service, plan: SlicePlan): Promise<void> {
    const key = keyOf(service);
    for (const slice of service.metadata.deletionTimestamp ? [] : plan.create) {
      written.note(key, await client.create("endpointslices", slice, { signal }), clock.now());
    }
    for (const slice of plan.update) {
      written.note(key, await client.update("endpointslices", slice, { signal }), clock.now());
    }
    for (const slice of plan.remove) {
      const { namespace, name = "", uid } = slice.metadata;
      await client.delete("endpointslices", { namespace, name }, { preconditions: { uid }, signal });
      written.noteGone(key, slice, clock.now());
    }
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const service = services.get(key);
    // Slices of a service that is gone belong to nobody: the garbage collector takes them.
    if (!service || !selectsPods(service)) return undefined;
    const current = slicesOf(service).filter(({ metadata }) => !metadata.deletionTimestamp);
    if (written.isStale(key, slicesOf(service), clock.now())) return { againAfterMs: patienceMs };
    const facts = { service, pods: podsBehind(informers, service), node: nodes.get };
    const plan = decideSlices(facts, current);
    try {
      await carryOut(service, plan);
    } catch (error) {
      // Not as it was when this was decided: the change that made it so comes here too.
      if (isNamespaceTerminating(error) || isConflict(error) || isNotFound(error)) return undefined;
      signal.throwIfAborted();
      const message = `Error updating Endpoint Slices for Service ${key}: ${messageOf(error)}`;
      recorder.record(service, { type: "Warning", reason: "FailedToUpdateEndpointSlices", message });
      throw error;
    }
    if (plan.problems.length > 0) throw new Error(plan.problems.join(", "));
    return undefined;
  }

  await runController(
    context,
    {
      name: "endpoint-slice",
      watch(queue) {
        watchServicePods(informers, queue);
        slices.onChange((change) => {
          // One that was renamed to another service is missed by the first.
          if (change.kind === "changed") queue.add(serviceKeyOf(change.previous));
          const key = serviceKeyOf(change.object);
          if (change.kind === "deleted") written.forget(key, change.object);
          queue.add(key);
        });
      },
      reconcile,
    },
    signal,
  );
}

function serviceKeyOf({ metadata: { namespace, labels } }: EndpointSlice): string {
  return `${namespace}/${labels?.[serviceNameLabel] ?? ""}`;
}
