import { isDeepStrictEqual } from "node:util";
import { uncoveredRules } from "../rbac/covers.ts";
import type { ClusterRole, ClusterRoleBinding, RbacObject, Role, RoleBinding } from "../rbac/rbac-objects.ts";
import { autoUpdateAnnotation, bootstrapPolicyObjects } from "./bootstrap-policy.ts";

export interface PolicyAction {
  /** `recreate` deletes the object first, because the role of a binding is immutable. */
  readonly kind: "create" | "update" | "recreate";
  readonly object: RbacObject;
}

/**
 * Writes at startup that restore the default roles and bindings. Added permissions and subjects stay, removed ones are
 * restored, and objects annotated with autoupdate "false" are not changed. `find` returns the stored object of the same
 * kind, namespace and name.
 */
export function reconcilePolicy(find: (expected: RbacObject) => RbacObject | undefined): PolicyAction[] {
  return bootstrapPolicyObjects().flatMap((expected): PolicyAction[] => {
    const existing = find(expected);
    if (!existing) return [{ kind: "create", object: expected }];
    if (existing.metadata.annotations?.[autoUpdateAnnotation] === "false") return [];
    if (isBinding(expected) && isBinding(existing)) {
      if (!isDeepStrictEqual(existing.roleRef, expected.roleRef))
        return [{ kind: "recreate", object: expected }];
      return updateTo(existing, mergeBinding(existing, expected));
    }
    return isBinding(expected) || isBinding(existing)
      ? []
      : updateTo(existing, mergeRole(existing, expected));
  });
}

function updateTo(existing: RbacObject, object: RbacObject): PolicyAction[] {
  return isDeepStrictEqual(existing, object) ? [] : [{ kind: "update", object }];
}

function mergeBinding<T extends RoleBinding | ClusterRoleBinding>(existing: T, expected: T): T {
  const subjects = existing.subjects ?? [];
  const missing = (expected.subjects ?? []).filter(
    (wanted) => !subjects.some((subject) => isDeepStrictEqual(subject, wanted)),
  );
  const merged = withMetadata(existing, expected);
  return missing.length > 0 ? { ...merged, subjects: [...subjects, ...missing] } : merged;
}

function mergeRole(existing: Role | ClusterRole, expected: Role | ClusterRole): Role | ClusterRole {
  const merged = withMetadata(existing, expected);
  // The rules of an aggregated role are computed from the roles that it selects.
  if ("aggregationRule" in expected)
    return { ...merged, aggregationRule: mergeSelectors(existing, expected) };
  const { aggregationRule: _, ...own }: ClusterRole = merged;
  const missing = uncoveredRules(existing.rules ?? [], expected.rules ?? []) ?? [];
  return missing.length > 0 ? { ...own, rules: [...(existing.rules ?? []), ...missing] } : own;
}

function mergeSelectors(existing: ClusterRole, expected: ClusterRole): ClusterRole["aggregationRule"] {
  const selectors = existing.aggregationRule?.clusterRoleSelectors ?? [];
  const missing = (expected.aggregationRule?.clusterRoleSelectors ?? []).filter(
    (wanted) => !selectors.some((selector) => isDeepStrictEqual(selector, wanted)),
  );
  return missing.length > 0 ? { clusterRoleSelectors: [...selectors, ...missing] } : existing.aggregationRule;
}

function withMetadata<T extends RbacObject>(existing: T, expected: T): T {
  const { labels, annotations } = expected.metadata;
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: { ...labels, ...existing.metadata.labels },
      annotations: { ...annotations, ...existing.metadata.annotations },
    },
  };
}

function isBinding(object: RbacObject): object is RoleBinding | ClusterRoleBinding {
  return "roleRef" in object;
}
