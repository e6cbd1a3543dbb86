import type { ResourceQuota } from "../meta/objects.ts";
import { compareQuantities, formatQuantity } from "../meta/quantity.ts";
import type { Evaluator, QuotaWrite } from "./evaluators.ts";
import { scopeRequirementsOf } from "./scopes.ts";
import { addUsage, formatUsage, maskUsage, parseUsage, type Usage, usageIncrease } from "./usage.ts";

/** Result of a write for one quota: no effect, the new `status.used`, or the reason to reject the write. */
export type QuotaDecision =
  | { readonly kind: "unaffected" }
  | { readonly kind: "charge"; readonly used: Record<string, string> }
  | { readonly kind: "reject"; readonly detail: string };

/** Decides whether a write fits into a quota, and what its usage is afterwards. */
export function checkQuota(
  quota: ResourceQuota,
  write: QuotaWrite,
  { evaluator, now }: { readonly evaluator: Evaluator; readonly now: number },
): QuotaDecision {
  const { object, current, operation, subresource } = write;
  const name = quota.metadata.name ?? "";
  const hard = parseUsage(quota.status?.hard);
  const used = parseUsage(quota.status?.used);
  const restricted = [...hard.keys()].filter(evaluator.measures).sort();
  const requirements = scopeRequirementsOf(quota);
  const matches = (each: typeof object) =>
    requirements.every((requirement) => evaluator.matchesScope(each, requirement));
  if (restricted.length === 0 || !matches(object)) return { kind: "unaffected" };

  const problem = evaluator.problem(object, restricted);
  if (problem) return { kind: "reject", detail: `failed quota: ${name}: ${problem}` };
  if (restricted.some((each) => !used.has(each))) {
    const detail = `status unknown for quota: ${name}, resources: ${restricted.join(",")}`;
    return { kind: "reject", detail };
  }
  const usage = evaluator.usage(object, now);
  const negative = [...usage].flatMap(([each, { nanos }]) => (nanos < 0n ? each : [])).sort();
  if (negative.length > 0)
    return { kind: "reject", detail: `quota usage is negative for resource(s): ${negative.join(",")}` };

  const isCounted = operation === "update" && current !== undefined && matches(current);
  const increase = usageIncrease(usage, isCounted ? evaluator.usage(current, now) : new Map());
  const requested = maskUsage(increase, hard.keys());
  if (requested.size === 0) return { kind: "unaffected" };
  const next = addUsage(used, requested);
  // Usage that the status of an object shows has happened: it is counted, not rejected.
  const exceeded = subresource === "status" ? [] : exceededNames(maskUsage(next, requested.keys()), hard);
  if (exceeded.length === 0) return { kind: "charge", used: formatUsage(next) };
  const show = (amounts: Usage) => formatAmounts(maskUsage(amounts, exceeded));
  const detail = `exceeded quota: ${name}, requested: ${show(requested)}, used: ${show(used)}, limited: ${show(hard)}`;
  return { kind: "reject", detail };
}

function exceededNames(usage: Usage, hard: Usage): string[] {
  return [...usage].flatMap(([name, amount]) => {
    const limit = hard.get(name);
    return limit && compareQuantities(amount, limit) > 0 ? name : [];
  });
}

/** `cpu=1,pods=2`, sorted by name. */
function formatAmounts(usage: Usage): string {
  const entries = [...usage].sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, amount]) => `${name}=${formatQuantity(amount)}`).join(",");
}
