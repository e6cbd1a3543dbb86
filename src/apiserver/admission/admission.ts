import type { KubeObject } from "../../api/objects.ts";
import type { Registry } from "../registry.ts";
import { type ServiceAddresses, serviceResource } from "../service-addresses.ts";
import type { Admit } from "./admit.ts";

export function createAdmission(deps: { registry: Registry; serviceAddresses: ServiceAddresses }): Admit {
  return async ({ ref, object, current, dryRun }) => {
    if (ref.resource === serviceResource && object && !dryRun) {
      await deps.serviceAddresses.assign(object as KubeObject, current);
    }
  };
}
