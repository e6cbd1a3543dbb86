import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../meta/field-errors.ts";
import { isEqual } from "../../meta/is-equal.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../../meta/names.ts";
import type { ClusterRoleBinding, RoleBinding, Wire } from "../../meta/objects.ts";
import { validateLabelSelector } from "../../meta/validate-metadata.ts";
import { ageColumn, type Column, column, nameColumn, type Sparse, wideColumn } from "../columns.ts";

const group = "rbac.authorization.k8s.io";

export function validateRole({ rules }: Wire<k8s.V1Role>): FieldError[] {
  const at = new FieldErrors("");
  at.each("rules", rules, (rule, place) => validateRule(rule, place, { namespaced: true }));
  return at.errors;
}

export function validateClusterRole({ rules, aggregationRule }: Wire<k8s.V1ClusterRole>): FieldError[] {
  const at = new FieldErrors("");
  at.each("rules", rules, (rule, place) => validateRule(rule, place, { namespaced: false }));
  if (aggregationRule) {
    const selectors = aggregationRule.clusterRoleSelectors;
    const field = "aggregationRule.clusterRoleSelectors";
    if (!selectors?.length) {
      at.required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    at.each(field, selectors, (selector, place) => {
      const before = at.errors.length;
      validateLabelSelector(selector, place);
      if (at.errors.length > before) place.invalid("", null, "invalid label selector.");
    });
  }
  return at.errors;
}

function validateRule(
  rule: k8s.V1PolicyRule,
  at: FieldErrors,
  { namespaced }: { namespaced: boolean },
): void {
  if (!rule.verbs?.length) at.required("verbs", "verbs must contain at least one value");
  if (rule.nonResourceURLs?.length) {
    const reject = (detail: string) => at.invalid("nonResourceURLs", rule.nonResourceURLs, detail);
    if (namespaced) reject("namespaced rules cannot apply to non-resource URLs");
    if (rule.apiGroups?.length || rule.resources?.length || rule.resourceNames?.length) {
      reject("rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  if (!rule.apiGroups?.length) at.required("apiGroups", "resource rules must supply at least one api group");
  if (!rule.resources?.length) at.required("resources", "resource rules must supply at least one resource");
}

type Binding = Wire<k8s.V1RoleBinding>;

export function validateRoleBinding(binding: Binding): FieldError[] {
  return validateBinding(binding, { namespaced: true });
}

export function validateClusterRoleBinding(binding: Binding): FieldError[] {
  return validateBinding(binding, { namespaced: false });
}

function validateBinding({ roleRef, subjects }: Binding, options: { namespaced: boolean }): FieldError[] {
  const at = new FieldErrors("");
  at.oneOf("roleRef.apiGroup", roleRef?.apiGroup ?? "", [group]);
  const kinds = options.namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  at.oneOf("roleRef.kind", roleRef?.kind ?? "", kinds);
  if (!roleRef?.name) at.required("roleRef.name");
  else at.problems("roleRef.name", roleRef.name, pathSegmentProblems(roleRef.name));
  at.each("subjects", subjects, (subject, place) => validateSubject(subject, place, options));
  return at.errors;
}

function validateSubject(
  { kind, name, namespace, apiGroup = "" }: k8s.RbacV1Subject,
  at: FieldErrors,
  { namespaced }: { namespaced: boolean },
): void {
  if (!name) at.required("name");
  if (kind === "ServiceAccount") {
    if (name) at.problems("name", name, dnsSubdomainProblems(name));
    at.oneOf("apiGroup", apiGroup, [""]);
    if (!namespaced && !namespace) at.required("namespace");
  } else if (kind === "User" || kind === "Group") {
    at.oneOf("apiGroup", apiGroup, [group]);
  } else {
    at.notSupported("kind", kind ?? "", ["ServiceAccount", "User", "Group"]);
  }
}

/** Rejects a changed role, because the right to create a binding depends on its role. */
export function validateRoleRefKept(next: Binding, current: Binding): FieldError[] {
  const at = new FieldErrors("");
  if (!isEqual(next.roleRef, current.roleRef)) {
    // Upstream shows its own names of the fields.
    const { apiGroup, kind, name } = next.roleRef;
    at.invalid("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, "cannot change roleRef");
  }
  return at.errors;
}

type AnyBinding = RoleBinding | ClusterRoleBinding;

/** Columns of RoleBindings and ClusterRoleBindings. */
export const bindingColumns: readonly Column<AnyBinding>[] = [
  nameColumn,
  column("Role", "What is granted", ({ roleRef }) => `${roleRef?.kind ?? ""}/${roleRef?.name ?? ""}`),
  ageColumn,
  wideColumn("Users", "Users who are granted it", (binding) => subjectsOf(binding, "User")),
  wideColumn("Groups", "Groups that are granted it", (binding) => subjectsOf(binding, "Group")),
  wideColumn("ServiceAccounts", "Service accounts that are granted it", (binding) =>
    subjectsOf(binding, "ServiceAccount"),
  ),
];

function subjectsOf({ subjects = [] }: Sparse<AnyBinding>, wanted: string): string {
  return subjects
    .filter(({ kind }) => kind === wanted)
    .map(({ namespace = "", name }) => (wanted === "ServiceAccount" ? `${namespace}/${name}` : name))
    .join(", ");
}

export function defaultBinding({ roleRef, subjects }: AnyBinding): void {
  if (roleRef) roleRef.apiGroup ||= group;
  for (const subject of subjects ?? []) {
    if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= group;
  }
}
