import type { PolicyRule, Subject } from "../rbac/objects.ts";
import { allow, read, writeEvents } from "./rule.ts";
import { serviceAccount, user } from "./subjects.ts";

interface NamespaceRole {
  readonly namespace: "kube-system" | "kube-public";
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  /** The name of the binding where it is not the role's. */
  readonly bindingName?: string;
  readonly subjects: readonly Subject[];
}

const leaderElection = [
  allow("create get list update watch", "coordination.k8s.io", "leases"),
  allow("create get list update watch", "coordination.k8s.io", "leasecandidates"),
];

/** Roles in namespaces, each with its binding. */
export const namespaceRoles: readonly NamespaceRole[] = [
  {
    namespace: "kube-system",
    name: "extension-apiserver-authentication-reader",
    rules: [allow(read, "core", "configmaps", "extension-apiserver-authentication")],
    bindingName: "system::extension-apiserver-authentication-reader",
    subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
  },
  {
    namespace: "kube-system",
    name: "system::leader-locking-kube-controller-manager",
    rules: leaderElection,
    subjects: [
      user("system:kube-controller-manager"),
      serviceAccount("kube-controller-manager"),
      serviceAccount("leader-election-controller"),
    ],
  },
  {
    namespace: "kube-system",
    name: "system::leader-locking-kube-scheduler",
    rules: leaderElection,
    subjects: [user("system:kube-scheduler"), serviceAccount("kube-scheduler")],
  },
  {
    namespace: "kube-system",
    name: "system:controller:bootstrap-signer",
    rules: [allow(read, "core", "secrets")],
    subjects: [serviceAccount("bootstrap-signer")],
  },
  {
    namespace: "kube-system",
    name: "system:controller:cloud-provider",
    rules: [allow("create get list watch", "core", "configmaps")],
    subjects: [serviceAccount("cloud-provider")],
  },
  {
    namespace: "kube-system",
    name: "system:controller:token-cleaner",
    rules: [allow("delete get list watch", "core", "secrets"), writeEvents],
    subjects: [serviceAccount("token-cleaner")],
  },
  {
    namespace: "kube-public",
    name: "system:controller:bootstrap-signer",
    rules: [
      allow(read, "core", "configmaps"),
      allow("update", "core", "configmaps", "cluster-info"),
      writeEvents,
    ],
    subjects: [serviceAccount("bootstrap-signer")],
  },
];
