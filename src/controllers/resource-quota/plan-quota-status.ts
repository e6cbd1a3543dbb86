import type { KubeObject, ResourceQuota } from "../../api/meta/objects.ts";
import { compareQuantities } from "../../api/meta/quantity.ts";
import type { Evaluator } from "../../api/quota/evaluators.ts";
import { scopeRequirementsOf } from "../../api/quota/scopes.ts";
import {
  addUsage,
  formatUsage,
  isEqualUsage,
  maskUsage,
  parseUsage,
  type Usage,
  zero,
} from "../../api/quota/usage.ts";

type QuotaStatus = NonNullable<ResourceQuota["status"]>;

/** What objects of one resource use of a quota, under the names that the quota limits and the evaluator measures. */
export function measureUsage(
  quota: ResourceQuota,
  { evaluator, objects, now }: { evaluator: Evaluator; objects: Iterable<KubeObject>; now: number },
): Usage {
  const names = Object.keys(quota.spec?.hard ?? {}).filter(evaluator.measures);
  let total: Usage = new Map(names.map((name) => [name, zero]));
  if (names.length === 0) return total;
  const requirements = scopeRequirementsOf(quota);
  for (const object of objects) {
    if (requirements.every((requirement) => evaluator.matchesScope(object, requirement)))
      total = addUsage(total, maskUsage(evaluator.usage(object, now), names));
  }
  return total;
}

/**
 * Status of a quota with this usage. Undefined if it is up to date. Names without a measured usage keep the last one.
 *
 * Admission charges a quota before the object is stored. Until a version of the quota is settled, objects that it was
 * charged for may not be observed yet, and usage is not lowered.
 */
export function planQuotaStatus(
  quota: ResourceQuota,
  { usage, isSettled }: { readonly usage: Usage; readonly isSettled: boolean },
): QuotaStatus | undefined {
  const { spec, status } = quota;
  const hard = parseUsage(spec?.hard);
  const before = parseUsage(status?.used);
  const next = new Map(before);
  for (const [name, amount] of usage) {
    const charged = before.get(name);
    const isLower = charged !== undefined && compareQuantities(amount, charged) < 0;
    if (isSettled || !isLower) next.set(name, amount);
  }
  const used = maskUsage(next, hard.keys());
  const isCurrent =
    status?.hard !== undefined &&
    status.used !== undefined &&
    isEqualUsage(hard, parseUsage(status.hard)) &&
    isEqualUsage(used, before);
  return isCurrent ? undefined : { hard: spec?.hard ?? {}, used: formatUsage(used) };
}
