import type { Endpoints } from "../../api/objects.ts";
import { keyOf } from "../../client/object-key.ts";
import {
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
} from "../../client/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { selectsPods } from "../service-pods/endpoint-pod.ts";
import { podsBehind, watchServicePods } from "../service-pods/watch-service-pods.ts";
import { decideEndpoints, managedByLabel } from "./decide-endpoints.ts";

/** Keeps for each service an Endpoints object with the addresses of its pods. */
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
      // Not as it was when this was decided: the change that made it so comes here too.
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
      const action = decideEndpoints(service, podsBehind(informers, service), existing.get(key));
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
          // Without a service they are somebody else's, unless they once were made here.
          const isOurs = object.metadata.labels?.[managedByLabel] !== undefined;
          if (isOurs || services.get(key)) queue.add(key);
        });
      },
      reconcile,
    },
    signal,
  );
}
