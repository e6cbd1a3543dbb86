import type { Endpoints } from "../../api/meta/objects.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import {
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
} from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { podsOf, selectsPods, watchServicePods } from "../service-pods/service-pods.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { decideEndpoints, managedByLabel } from "./decide-endpoints.ts";

/** Runs the Endpoints controller until the signal aborts. */
export async function runEndpointsController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers } = context;
  const recorder = context.recorder("endpoint-controller");
  const services = informers.of("services");
  const existing = informers.of("endpoints");

  async function write(kind: "create" | "update", endpoints: Endpoints): Promise<void> {
    try {
      if (kind === "create") await client.create("endpoints", endpoints, { signal });
      else await client.update("endpoints", endpoints, { signal });
    } catch (error) {
      // The cached object was stale; the change that caused this requeues the service.
      if (isAlreadyExists(error) || isConflict(error) || isNamespaceTerminating(error)) return;
      signal.throwIfAborted();
      const { namespace, name } = endpoints.metadata;
      const what = kind === "create" ? "create endpoint for service" : "update endpoint";
      const reason = kind === "create" ? "FailedToCreateEndpoint" : "FailedToUpdateEndpoint";
      const message = `Failed to ${what} ${namespace}/${name}: ${messageOf(error)}`;
      recorder.record(endpoints, { type: "Warning", reason, message });
      throw error;
    }
  }

  async function remove(key: string): Promise<void> {
    const found = existing.get(key);
    if (!found) return;
    const { namespace, name = "", uid } = found.metadata;
    try {
      await client.delete("endpoints", { namespace, name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const service = services.get(key);
    if (!service) await remove(key);
    else if (selectsPods(service)) {
      const action = decideEndpoints(service, podsOf(informers, service), existing.get(key));
      if (action.kind !== "none") await write(action.kind, action.endpoints);
    }
    return undefined;
  }

  await runController(
    context,
    {
      name: "endpoints",
      watch(queue) {
        watchServicePods(informers, queue);
        existing.onChange(({ object }) => {
          const key = keyOf(object);
          // Without a service, only objects that this controller has created are managed here.
          const isOurs = object.metadata.labels?.[managedByLabel] !== undefined;
          if (isOurs || services.get(key)) queue.add(key);
        });
      },
      reconcile,
    },
    signal,
  );
}
