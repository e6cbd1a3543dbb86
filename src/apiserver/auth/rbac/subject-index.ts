import { serviceAccountUsername, type UserInfo } from "../user-info.ts";
import type { ClusterRoleBinding, RbacSource, RoleBinding, Subject } from "./objects.ts";
import { type ResolvedRole, resolveRole } from "./resolve-role.ts";

/** What one binding gives to one of its subjects. */
export interface Grant extends ResolvedRole {
  readonly binding: RoleBinding | ClusterRoleBinding;
  /** Said when one of the rules allows a request. */
  readonly reason: string;
}

/** Bindings by those whom they are for, so that a request looks only at its own. */
export interface SubjectIndex {
  /** How many subjects have bindings. */
  readonly size: number;
  grantsOf(user: UserInfo): Grant[];
}

/** The bindings of a namespace, or with none the cluster role bindings. */
export function indexBindings(source: RbacSource, namespace: string): SubjectIndex {
  const users = new Map<string, Grant[]>();
  const groups = new Map<string, Grant[]>();
  for (const binding of namespace ? source.roleBindings(namespace) : source.clusterRoleBindings()) {
    const resolved = resolveRole(source, binding.roleRef, namespace);
    for (const subject of binding.subjects ?? []) {
      const grant = { binding, ...resolved, reason: describe(binding, subject, namespace) };
      if (subject.kind === "Group") append(groups, subject.name, grant);
      if (subject.kind === "User") append(users, subject.name, grant);
      const accountNamespace = subject.namespace || namespace;
      if (subject.kind === "ServiceAccount" && accountNamespace) {
        append(users, serviceAccountUsername(accountNamespace, subject.name), grant);
      }
    }
  }
  return {
    size: users.size + groups.size,
    grantsOf({ username, groups: memberOf }) {
      const grants = new Map<Grant["binding"], Grant>();
      for (const grant of users.get(username) ?? []) grants.set(grant.binding, grant);
      for (const group of memberOf) {
        for (const grant of groups.get(group) ?? []) grants.set(grant.binding, grant);
      }
      return [...grants.values()];
    },
  };
}

function append(index: Map<string, Grant[]>, key: string, grant: Grant): void {
  const list = index.get(key);
  if (list) list.push(grant);
  else index.set(key, [grant]);
}

function describe(binding: Grant["binding"], subject: Subject, namespace: string): string {
  const { roleRef, metadata } = binding;
  const name = JSON.stringify(namespace ? `${metadata.name}/${namespace}` : metadata.name);
  const kind = namespace ? "RoleBinding" : "ClusterRoleBinding";
  const who =
    subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  const role = `${roleRef.kind} ${JSON.stringify(roleRef.name)}`;
  return `RBAC: allowed by ${kind} ${name} of ${role} to ${subject.kind} ${JSON.stringify(who)}`;
}
