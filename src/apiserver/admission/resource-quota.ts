import { resourceQuotaKind } from "../../api/kinds/core/resource-quota/kind.ts";
import type { ResourceQuota } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { checkQuota } from "../../api/quota/check-quota.ts";
import { type Evaluator, evaluatorOf, type QuotaWrite } from "../../api/quota/evaluators.ts";
import type { Clock } from "../../lib/clock.ts";
import { createLister } from "../storage/lister.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import { type AdmissionPlugin, type AdmissionRequest, forbidIf } from "./admission-chain.ts";

/**
 * Charges the quotas of the namespace for a write before it is stored. A charge is a compare-and-set of the status, so that
 * concurrent writes through any number of servers never exceed a limit. The controller refunds charges of writes that
 * fail afterwards.
 */
export function createResourceQuotaPlugin(deps: {
  readonly objectStore: ObjectStore;
  readonly clock: Pick<Clock, "now">;
}): AdmissionPlugin {
  const { objectStore, clock } = deps;
  const quotas = createLister<ResourceQuota>(objectStore, resourceQuotaKind);
  const { resource } = resourceQuotaKind;

  function decide(request: AdmissionRequest, write: QuotaWrite, evaluator: Evaluator, quota: ResourceQuota) {
    const decision = checkQuota(quota, write, { evaluator, now: clock.now() });
    if (decision.kind === "reject") forbidIf(request, decision.detail);
    return decision;
  }

  async function check(request: AdmissionRequest, write: QuotaWrite, evaluator: Evaluator): Promise<void> {
    const { namespace } = request.ref;
    const affected: string[] = [];
    // All quotas are checked before the first one is charged: most rejections change nothing.
    for (const { metadata } of quotas.all(namespace)) {
      const name = metadata.name ?? "";
      const quota = await quotas.current(namespace, name);
      if (quota && decide(request, write, evaluator, quota).kind === "charge") affected.push(name);
    }
    if (request.dryRun) return;
    for (const name of affected) {
      try {
        await objectStore.change({ resource, namespace, name }, (stored) => {
          const quota = stored.parse() as ResourceQuota;
          const decision = decide(request, write, evaluator, quota);
          if (decision.kind !== "charge") return { kind: "keep" };
          return { kind: "put", object: { ...quota, status: { ...quota.status, used: decision.used } } };
        });
      } catch (error) {
        const isDeleted = error instanceof StatusError && error.code === 404;
        if (!isDeleted) throw error;
      }
    }
  }

  return {
    name: "ResourceQuota",
    handles: (operation) => operation === "create" || operation === "update",
    validate(request) {
      const { operation, ref, subresource, object, current } = request;
      if (!ref.resource.namespaced || !object || (operation !== "create" && operation !== "update")) return;
      // Most namespaces have no quota: their writes cost a lookup.
      if (quotas.all(ref.namespace).next().done) return;
      const evaluator = evaluatorOf(ref.resource);
      const write: QuotaWrite = { operation, subresource, object, current };
      if (evaluator?.handles(write)) return check(request, write, evaluator);
    },
  };
}
