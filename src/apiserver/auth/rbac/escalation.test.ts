import { describe, expect, test } from "vitest";
import type { UserInfo } from "../../request/user-info.ts";
import { resourceAttributes } from "../attributes.ts";
import { type EscalationDeps, rejectBinding, rejectRole } from "./escalation.ts";
import { listSource } from "./list-source.fixture.ts";
import type { ClusterRole, PolicyRule, Role, RoleBinding } from "./rbac-objects.ts";
import { ruleAllows } from "./rule-allows.ts";

const jane: UserInfo = { username: "jane", groups: ["dev", "system:authenticated"], extra: {} };
const master: UserInfo = { ...jane, groups: ["system:masters"] };
const group = "rbac.authorization.k8s.io";
const readPods: PolicyRule = { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] };
const readSecrets: PolicyRule = { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] };
const everything: PolicyRule[] = [
  { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
  { nonResourceURLs: ["*"], verbs: ["*"] },
];
const may = (verb: string, resource: string, names?: string[]): PolicyRule => ({
  apiGroups: [group],
  resources: [resource],
  verbs: [verb],
  resourceNames: names,
});

function deps(owned: readonly PolicyRule[]): EscalationDeps {
  return {
    authorize: (asked) => ({ allowed: owned.some((rule) => ruleAllows(rule, asked)), reason: "" }),
    rulesFor: () => ({ rules: owned, problem: "" }),
    source: listSource([clusterRole([readSecrets], "secret-reader")]),
  };
}

function role(rules: PolicyRule[], name = "r"): Role {
  return { apiVersion: `${group}/v1`, kind: "Role", metadata: { name, namespace: "a" }, rules };
}
function clusterRole(rules: PolicyRule[], name = "r", more: Partial<ClusterRole> = {}): ClusterRole {
  return { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name }, rules, ...more };
}
const aggregated = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } };

describe("rejectRole", () => {
  const missing = [
    'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:',
    '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
  ].join("\n");

  test.each<[string, UserInfo, PolicyRule[], Role, Role | undefined, string | undefined]>([
    ["what one has", jane, [readPods], role([readPods]), undefined, undefined],
    ["more than one has", jane, [readPods], role([readPods, readSecrets]), undefined, missing],
    ["a master gives everything", master, [], role(everything), undefined, undefined],
    ["with escalate", jane, [may("escalate", "roles")], role(everything), undefined, undefined],
    [
      "escalate by name does not help to create",
      jane,
      [may("escalate", "roles", ["r"])],
      role([readSecrets]),
      undefined,
      missing,
    ],
    [
      "escalate by name helps to update",
      jane,
      [may("escalate", "roles", ["r"])],
      role([readSecrets]),
      role([]),
      undefined,
    ],
    [
      "escalate of cluster roles is another thing",
      jane,
      [may("escalate", "clusterroles")],
      role([readSecrets]),
      undefined,
      missing,
    ],
    [
      "a label cannot be changed on a role that one could not write",
      jane,
      [],
      { ...role([readSecrets]), metadata: { name: "r", namespace: "a", labels: { x: "y" } } },
      role([readSecrets]),
      missing,
    ],
    [
      "the garbage collector takes finalizers away",
      jane,
      [],
      role([readSecrets]),
      { ...role([readSecrets]), metadata: { name: "r", namespace: "a", finalizers: ["x"] } },
      undefined,
    ],
  ])("%s", (_, user, owned, next, current, message) => {
    expect(rejectRole({ user, namespace: "a", next, current }, deps(owned))?.message).toBe(message);
  });

  test.each<[string, PolicyRule[], ClusterRole, ClusterRole | undefined, boolean]>([
    [
      "an aggregated role by whom may do everything",
      everything,
      clusterRole([], "r", aggregated),
      undefined,
      true,
    ],
    ["an aggregated role by another", [readPods], clusterRole([], "r", aggregated), undefined, false],
    ["a role that was aggregated", [readPods], clusterRole([]), clusterRole([], "r", aggregated), false],
  ])("%s", (_, owned, next, current, allowed) => {
    const error = rejectRole({ user: jane, namespace: "", next, current }, deps(owned));
    expect(error?.message).toBe(
      allowed
        ? undefined
        : 'clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    );
  });
});

describe("rejectBinding", () => {
  const binding = (name: string): RoleBinding => ({
    apiVersion: `${group}/v1`,
    kind: "RoleBinding",
    metadata: { name: "b", namespace: "a" },
    roleRef: { apiGroup: group, kind: "ClusterRole", name },
  });
  test.each<[string, UserInfo, PolicyRule[], string, RegExp | undefined]>([
    ["a role that one has", jane, [readSecrets], "secret-reader", undefined],
    [
      "a role that one has not",
      jane,
      [readPods],
      "secret-reader",
      /^rolebindings\.rbac\.authorization\.k8s\.io "b" is forbidden: user "jane".*not currently held/s,
    ],
    ["with bind", jane, [may("bind", "clusterroles", ["secret-reader"])], "secret-reader", undefined],
    ["with bind of another", jane, [may("bind", "clusterroles", ["view"])], "secret-reader", /is forbidden/],
    [
      "a role that does not exist",
      jane,
      [],
      "gone",
      /^clusterroles\.rbac\.authorization\.k8s\.io "gone" not found$/,
    ],
    ["a master binds what does not exist yet", master, [], "gone", undefined],
  ])("%s", (_, user, owned, name, message) => {
    const error = rejectBinding({ user, namespace: "a", next: binding(name) }, deps(owned));
    if (message) expect(error?.message).toMatch(message);
    else expect(error).toBeUndefined();
  });
});

test("escalation checks apply to every version", () => {
  expect(resourceAttributes({ user: jane, verb: "bind", resource: "roles" }).apiVersion).toBe("*");
});
