import { rbacGroup, type Subject } from "../rbac/objects.ts";

export function user(name: string): Subject {
  return { kind: "User", apiGroup: rbacGroup, name };
}

export function group(name: string): Subject {
  return { kind: "Group", apiGroup: rbacGroup, name };
}

/** The service accounts of the cluster's own parts are all in one namespace. */
export function serviceAccount(name: string): Subject {
  return { kind: "ServiceAccount", name, namespace: "kube-system" };
}
