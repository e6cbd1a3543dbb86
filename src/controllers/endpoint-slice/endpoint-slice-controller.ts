import type { EndpointSlice, Service } from "../../api/meta/objects.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import { isConflict, isNamespaceTerminating, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { podsOf, selectsPods, watchServicePods } from "../service-pods/service-pods.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import {
  controllerName,
  decideSlices,
  managedByLabel,
  type SlicePlan,
  serviceNameLabel,
} from "./decide-slices.ts";
import { createTriggerTimes, withTriggerTime } from "./trigger-times.ts";

/** Runs the EndpointSlice controller until the signal aborts. */
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
  const triggers = createTriggerTimes();

  function slicesOf(service: Service): EndpointSlice[] {
    return slices
      .byIndex("namespace", service.metadata.namespace ?? "")
      .filter(
        ({ metadata: { labels } }) =>
          labels?.[serviceNameLabel] === service.metadata.name && labels?.[managedByLabel] === controllerName,
      );
  }

  async function carryOut(service: Service, plan: SlicePlan, triggeredAt: string | undefined): Promise<void> {
    const key = keyOf(service);
    for (const slice of service.metadata.deletionTimestamp ? [] : plan.create) {
      const next = withTriggerTime(slice, triggeredAt);
      written.recordWrite(key, await client.create("endpointslices", next, { signal }), clock.now());
    }
    for (const slice of plan.update) {
      const next = withTriggerTime(slice, triggeredAt);
      written.recordWrite(key, await client.update("endpointslices", next, { signal }), clock.now());
    }
    for (const slice of plan.remove) {
      const { namespace, name = "", uid } = slice.metadata;
      await client.delete("endpointslices", { namespace, name }, { preconditions: { uid }, signal });
      written.recordDeletion(key, slice, clock.now());
    }
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const service = services.get(key);
    // The garbage collector deletes the slices of a deleted service.
    if (!service || !selectsPods(service)) {
      triggers.forget(key);
      return undefined;
    }
    const current = slicesOf(service).filter(({ metadata }) => !metadata.deletionTimestamp);
    if (written.isStale(key, slicesOf(service), clock.now())) return { requeueAfterMs: staleTimeoutMs };
    const facts = { service, pods: podsOf(informers, service), node: nodes.get };
    const plan = decideSlices(facts, current);
    try {
      await carryOut(service, plan, triggers.observe(service, facts.pods));
    } catch (error) {
      // The plan was based on a stale cache; the change that caused this requeues the service.
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
          // A slice that was relabelled affects its previous service too.
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

interface Written {
  /** Generation that was written, or `deleted`. */
  readonly generation: number | "deleted";
  readonly at: number;
}

/**
 * Writes that the informer has not observed yet. A decision without them would create the same slice twice. Entries
 * expire, because a write that was superseded may never be observed.
 */
export interface WrittenSlices {
  recordWrite(service: string, slice: EndpointSlice, now: number): void;
  recordDeletion(service: string, slice: EndpointSlice, now: number): void;
  /** Drops the entry of a slice whose deletion the informer has observed. */
  forget(service: string, slice: EndpointSlice): void;
  /** Whether the informer's slices do not include all writes yet. */
  isStale(service: string, slices: readonly EndpointSlice[], now: number): boolean;
}

const staleTimeoutMs = 30_000;

export function createWrittenSlices(): WrittenSlices {
  const services = new Map<string, Map<string, Written>>();

  function put(service: string, { metadata: { uid = "" } }: EndpointSlice, written: Written): void {
    const known = services.get(service) ?? new Map();
    services.set(service, known.set(uid, written));
  }

  function drop(service: string, uid: string): void {
    const known = services.get(service);
    known?.delete(uid);
    if (known?.size === 0) services.delete(service);
  }

  return {
    recordWrite: (service, slice, at) =>
      put(service, slice, { generation: slice.metadata.generation ?? 0, at }),
    recordDeletion: (service, slice, at) => put(service, slice, { generation: "deleted", at }),
    forget: (service, slice) => drop(service, slice.metadata.uid ?? ""),
    isStale(service, slices, now) {
      let isStale = false;
      const seen = new Map(slices.map(({ metadata }) => [metadata.uid ?? "", metadata.generation ?? 0]));
      for (const [uid, { generation, at }] of services.get(service) ?? []) {
        const found = seen.get(uid);
        const isObserved =
          generation === "deleted" ? found === undefined : found !== undefined && found >= generation;
        if (isObserved || now - at > staleTimeoutMs) drop(service, uid);
        else isStale = true;
      }
      return isStale;
    },
  };
}
