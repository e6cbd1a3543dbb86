import type { Logger } from "../../lib/logger.ts";
import { lookupOf } from "../registry/object-lookup.ts";
import { createIfMissing } from "../verb/create.ts";
import type { WriteDeps } from "../verb/write-deps.ts";
import { serverUser } from "./bootstrap-cluster.ts";
import { apiService } from "./cluster-objects.ts";

/** The `kubernetes` service comes back when somebody deletes it: whatever runs in a pod finds the API by it. */
export function keepApiService(deps: WriteDeps, port: number, logger: Logger): () => void {
  const wanted = apiService(port).metadata;
  return lookupOf(deps.registry, "", "services").onChange((before, after) => {
    const { name, namespace } = before?.metadata ?? {};
    if (after || name !== wanted.name || namespace !== wanted.namespace) return;
    createIfMissing(deps, apiService(port), serverUser).catch((error: unknown) =>
      logger.warn("the kubernetes service was deleted and could not be made again", { error }),
    );
  });
}
