import { clusterRoleKind } from "../../../api/kinds/rbac/cluster-role/kind.ts";
import { labelSelectorOf, matchesLabels } from "../../../api/meta/selector.ts";
import type { Logger } from "../../../lib/logger.ts";
import { createLister } from "../../storage/lister.ts";
import type { Change, ObjectStore } from "../../storage/object-store.ts";
import type { ClusterRole, PolicyRule } from "./rbac-objects.ts";

/** Rules of all cluster roles that an aggregated role selects, without duplicates. */
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

/** Aggregated roles whose rules are outdated, with their new rules. */
export function reaggregate(clusterRoles: Iterable<ClusterRole>): ClusterRole[] {
  const roles = [...clusterRoles];
  const changed = new Set<number>();
  // `admin` aggregates `edit`, which aggregates `view`: one round for each level, and at most as many as there are
  // roles.
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

/** Canonical form of rules. Independent of the order of their fields. */
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

/** Updates aggregated roles (`admin`, `edit`, `view`) whenever cluster roles change. */
export function aggregateClusterRoles(objectStore: ObjectStore, logger: Logger): () => void {
  const clusterRoles = createLister<ClusterRole>(objectStore, clusterRoleKind);
  const ref = { resource: clusterRoleKind.resource, namespace: "" };
  let due = false;

  async function aggregate(): Promise<void> {
    due = false;
    for (const wanted of reaggregate(clusterRoles.all())) {
      await objectStore.change({ ...ref, name: wanted.metadata.name ?? "" }, (cached): Change => {
        return { kind: "put", object: { ...cached.parse(), rules: wanted.rules } as ClusterRole };
      });
    }
  }

  return clusterRoles.onChange(() => {
    // Roles often change many at a time: one update covers them all.
    if (due) return;
    due = true;
    setImmediate(() => {
      aggregate().catch((error: unknown) => logger.warn("cluster roles were not aggregated", { error }));
    });
  });
}
