import { dnsLabelProblems, dnsSubdomainProblems } from "../../api/meta/names.ts";

/** The user of a request. Reuse one value for each user: decisions are cached by its identity. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const mastersGroup = "system:masters";
export const authenticatedGroup = "system:authenticated";
export const unauthenticatedGroup = "system:unauthenticated";
export const nodesGroup = "system:nodes";

/** The API server as a client of kubelets. */
export const kubeletClientUser = "kube-apiserver-kubelet-client";

/** Components of `kindling up` that upstream does not have. */
export const monitorUser = "system:kindling-monitor";
export const dnsUser = "system:kindling-dns";
export const networkPolicyUser = "system:kindling-network-policy";
export const localVolumesUser = "system:kindling-local-volumes";

export const credentialIdKey = "authentication.kubernetes.io/credential-id";
export const nodeNameKey = "authentication.kubernetes.io/node-name";

export const anonymousUser: UserInfo = {
  username: "system:anonymous",
  groups: [unauthenticatedGroup],
  extra: {},
};

/** A user with a credential, which is in the group `system:authenticated` in addition to its own. */
export function authenticatedUser(user: UserInfo): UserInfo {
  const settled =
    user.username === anonymousUser.username ||
    user.groups.includes(authenticatedGroup) ||
    user.groups.includes(unauthenticatedGroup);
  return settled ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
}

const nodePrefix = "system:node:";

/** Name of the node whose kubelet the user is, which may be empty. Undefined for other users. */
export function nodeNameOf(user: UserInfo): string | undefined {
  if (!user.username.startsWith(nodePrefix) || !user.groups.includes(nodesGroup)) return undefined;
  return user.username.slice(nodePrefix.length);
}

/** Name of the node in a username, regardless of groups. */
export function nodeNameOfUsername(username: string): string | undefined {
  if (!username.startsWith(nodePrefix)) return undefined;
  const name = username.slice(nodePrefix.length);
  return dnsSubdomainProblems(name).length === 0 ? name : undefined;
}

const serviceAccountPrefix = "system:serviceaccount:";

export function serviceAccountUsername(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

export function serviceAccountOfUsername(username: string): { namespace: string; name: string } | undefined {
  if (!username.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace = "", name = "", ...rest] = username.slice(serviceAccountPrefix.length).split(":");
  const valid =
    rest.length === 0 && dnsLabelProblems(namespace).length === 0 && dnsSubdomainProblems(name).length === 0;
  return valid ? { namespace, name } : undefined;
}
