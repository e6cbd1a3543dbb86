import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../names.ts";
import type { Wire } from "../objects.ts";
import { validateLabelSelector } from "./labels.ts";
import { Report } from "./report.ts";

const group = "rbac.authorization.k8s.io";

export function validateRole({ rules }: Wire<k8s.V1Role>): FieldError[] {
  const at = new Report("");
  at.each("rules", rules, (rule, place) => validateRule(rule, place, { namespaced: true }));
  return at.errors;
}

export function validateClusterRole({ rules, aggregationRule }: Wire<k8s.V1ClusterRole>): FieldError[] {
  const at = new Report("");
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

function validateRule(rule: k8s.V1PolicyRule, at: Report, { namespaced }: { namespaced: boolean }): void {
  if (!rule.verbs?.length) at.required("verbs", "verbs must contain at least one value");
  if (rule.nonResourceURLs?.length) {
    const refuse = (detail: string) => at.invalid("nonResourceURLs", rule.nonResourceURLs, detail);
    if (namespaced) refuse("namespaced rules cannot apply to non-resource URLs");
    if (rule.apiGroups?.length || rule.resources?.length || rule.resourceNames?.length) {
      refuse("rules cannot apply to both regular resources and non-resource URLs");
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
  const at = new Report("");
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
  at: Report,
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

/** Who may grant a binding is decided by its role: another role is another binding. */
export function validateRoleRefKept(next: Binding, current: Binding): FieldError[] {
  const at = new Report("");
  if (!isEqual(next.roleRef, current.roleRef)) {
    // Upstream shows its own names of the fields.
    const { apiGroup, kind, name } = next.roleRef;
    at.invalid("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, "cannot change roleRef");
  }
  return at.errors;
}
