import { type PolicyRule, rbacGroup, type Subject } from "../rbac/rbac-objects.ts";

/** List of words, separated by spaces or line breaks. The word `core` means the core API group. */
type Words = string;

export const read: Words = "get list watch";
export const write: Words = "create delete deletecollection patch update";

export function allow(verbs: Words, groups: Words, resources: Words, names?: Words): PolicyRule {
  return {
    apiGroups: words(groups).map((group) => (group === "core" ? "" : group)),
    resources: words(resources),
    ...(names && { resourceNames: words(names) }),
    verbs: words(verbs),
  };
}

export function allowPaths(verbs: Words, paths: Words): PolicyRule {
  return { nonResourceURLs: words(paths), verbs: words(verbs) };
}

export const writeEvents = allow("create patch update", "core events.k8s.io", "events");

function words(text: Words): string[] {
  return text.split(/\s+/);
}

export function user(name: string): Subject {
  return { kind: "User", apiGroup: rbacGroup, name };
}

export function group(name: string): Subject {
  return { kind: "Group", apiGroup: rbacGroup, name };
}

/** Subject for a service account of a component. All of them are in kube-system. */
export function serviceAccount(name: string): Subject {
  return { kind: "ServiceAccount", name, namespace: "kube-system" };
}
