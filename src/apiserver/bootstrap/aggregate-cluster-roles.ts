import type { Logger } from "../../lib/logger.ts";
import { reaggregate } from "../auth/rbac/aggregate.ts";
import { type ClusterRole, rbacGroup } from "../auth/rbac/objects.ts";
import { lookupOf } from "../registry/object-lookup.ts";
import type { Change, Registry } from "../registry/registry.ts";
import { refOf } from "../registry/registry.ts";

/** Keeps roles that gather the rules of others (`admin`, `edit`, `view`) in step with those others. */
export function aggregateClusterRoles(registry: Registry, logger: Logger): () => void {
  const clusterRoles = lookupOf<ClusterRole>(registry, rbacGroup, "clusterroles");
  let due = false;

  async function aggregate(): Promise<void> {
    due = false;
    for (const wanted of reaggregate(clusterRoles.all())) {
      await registry.change(refOf(wanted), (cached): Change => {
        return { kind: "put", object: { ...cached.parse(), rules: wanted.rules } as ClusterRole };
      });
    }
  }

  return clusterRoles.onChange(() => {
    // Roles often change many at a time: one look at them all is enough for that.
    if (due) return;
    due = true;
    setImmediate(() => {
      aggregate().catch((error: unknown) => logger.warn("cluster roles were not aggregated", { error }));
    });
  });
}
