import { labelSelectorOf, matchesLabels } from "../../../api/selector.ts";
import type { ClusterRole, PolicyRule } from "./objects.ts";

/** The rules of all cluster roles that an aggregated role selects, each once. */
export function aggregatedRules(role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] {
  const rules = new Map<string, PolicyRule>();
  for (const object of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selector = labelSelectorOf(object) ?? [];
    const selected = all
      .filter((other) => nameOf(other) !== nameOf(role) && matchesLabels(selector, other.metadata.labels))
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    for (const rule of selected.flatMap((other) => other.rules ?? [])) {
      const key = keyOf([rule]);
      if (!rules.has(key)) rules.set(key, rule);
    }
  }
  return [...rules.values()];
}

/** The aggregated roles whose rules are not what they should be, as they should be. */
export function reaggregate(clusterRoles: Iterable<ClusterRole>): ClusterRole[] {
  const roles = [...clusterRoles];
  const changed = new Set<number>();
  // `admin` gathers `edit`, which gathers `view`: a round for each step, and never more than there are roles.
  for (let round = 0, settled = false; !settled && round < roles.length; round++) {
    settled = true;
    for (const [index, role] of roles.entries()) {
      if (!role.aggregationRule) continue;
      const rules = aggregatedRules(role, roles);
      if (keyOf(rules) === keyOf(role.rules ?? [])) continue;
      settled = false;
      roles[index] = { ...role, rules };
      changed.add(index);
    }
  }
  return roles.filter((_, index) => changed.has(index));
}

function nameOf({ metadata }: ClusterRole): string {
  return metadata.name ?? "";
}

/** Equal for equal rules, in whatever order their fields were written. */
function keyOf(rules: readonly PolicyRule[]): string {
  return JSON.stringify(
    rules.map((rule) => [
      rule.verbs,
      rule.apiGroups ?? [],
      rule.resources ?? [],
      rule.resourceNames ?? [],
      rule.nonResourceURLs ?? [],
    ]),
  );
}
