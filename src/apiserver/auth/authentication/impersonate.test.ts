import { describe, expect, test } from "vitest";
import type { UserInfo } from "../../request/user-info.ts";
import { type Attributes, resourceAttributes } from "../attributes.ts";
import type { PolicyRule } from "../rbac/rbac-objects.ts";
import { ruleAllows } from "../rbac/rule-allows.ts";
import { impersonate, type WantedUser } from "./impersonate.ts";

const bob: UserInfo = { username: "bob", groups: ["dev"], extra: {} };
const agent: UserInfo = {
  username: "system:serviceaccount:kube-system:agent",
  groups: [],
  extra: { "authentication.kubernetes.io/node-name": ["n1"] },
};
const authentication = "authentication.k8s.io";

function rule(verbs: string, apiGroup: string, resources: string, names?: string[]): PolicyRule {
  return { verbs: [verbs], apiGroups: [apiGroup], resources: [resources], resourceNames: names };
}

function run(wanted: Partial<WantedUser>, rules: readonly PolicyRule[], requester = bob) {
  const request = resourceAttributes({
    user: requester,
    verb: "list",
    resource: "pods",
    namespace: "default",
  });
  const authorize = (asked: Attributes) => ({
    allowed: rules.some((one) => ruleAllows(one, asked)),
    reason: "",
  });
  const result = impersonate(
    { username: "jane", uid: "", groups: [], extra: {}, ...wanted },
    request,
    authorize,
  );
  return result.kind === "user" ? result.user : result.error.message;
}

const users = rule("impersonate", "", "users");
const groups = rule("impersonate", "", "groups");

describe("the plain verb impersonate", () => {
  test.each<[string, Partial<WantedUser>, PolicyRule[], object]>([
    ["of users", {}, [users], { username: "jane", groups: ["system:authenticated"] }],
    ["of one user", {}, [rule("impersonate", "", "users", ["jane"])], { username: "jane" }],
    ["with groups", { groups: ["a"] }, [users, groups], { groups: ["a", "system:authenticated"] }],
    [
      "with the group of masters, where groups are allowed",
      { groups: ["system:masters"] },
      [users, groups],
      { groups: ["system:masters", "system:authenticated"] },
    ],
    [
      "of the anonymous user",
      { username: "system:anonymous" },
      [users],
      { groups: ["system:unauthenticated"] },
    ],
    [
      "of a service account, with its groups",
      { username: "system:serviceaccount:a:b" },
      [rule("impersonate", "", "serviceaccounts")],
      { groups: ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"] },
    ],
    ["with a uid", { uid: "7" }, [users, rule("impersonate", authentication, "uids")], { uid: "7" }],
    [
      "with extra fields",
      { extra: { team: ["x"] } },
      [users, rule("impersonate", authentication, "userextras/team", ["x"])],
      { extra: { team: ["x"] } },
    ],
  ])("%s", (_, wanted, rules, expected) => {
    expect(run(wanted, rules)).toMatchObject(expected);
  });
});

describe("constrained impersonation", () => {
  const on = (mode: string) => rule(`impersonate-on:${mode}:list`, "", "pods");
  test.each<[string, Partial<WantedUser>, PolicyRule[], object]>([
    [
      "of a user for one verb on one resource",
      {},
      [on("user-info"), rule("impersonate:user-info", authentication, "users")],
      { username: "jane", groups: ["system:authenticated"] },
    ],
    [
      "of a service account",
      { username: "system:serviceaccount:a:b" },
      [on("serviceaccount"), rule("impersonate:serviceaccount", authentication, "serviceaccounts")],
      { groups: ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"] },
    ],
    [
      "of a node, which is in the group of nodes",
      { username: "system:node:n2" },
      [on("arbitrary-node"), rule("impersonate:arbitrary-node", authentication, "nodes", ["n2"])],
      { groups: ["system:nodes", "system:authenticated"] },
    ],
  ])("%s", (_, wanted, rules, expected) => {
    expect(run(wanted, rules)).toMatchObject(expected);
  });

  const ownNode = [on("associated-node"), rule("impersonate:associated-node", authentication, "nodes")];
  test("a service account may be allowed to be the node that it runs on, and no other", () => {
    expect(run({ username: "system:node:n1" }, ownNode, agent)).toMatchObject({ username: "system:node:n1" });
    expect(run({ username: "system:node:n2" }, ownNode, agent)).toContain("is forbidden");
    expect(run({ username: "system:node:n1" }, ownNode)).toContain("is forbidden");
  });

  test("cannot grant system:masters", () => {
    const rules = ["users", "groups"].map((kind) => rule("impersonate:user-info", authentication, kind));
    expect(run({ groups: ["system:masters"] }, [on("user-info"), ...rules])).toContain(
      "impersonating the system:masters group is not allowed",
    );
  });
});

describe("without permission", () => {
  test.each<[string, Partial<WantedUser>, PolicyRule[], string]>([
    [
      "nothing is allowed",
      {},
      [],
      'pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default"',
    ],
    ["only another user is allowed", {}, [rule("impersonate", "", "users", ["joe"])], "is forbidden"],
    ["groups are not allowed", { groups: ["system:masters"] }, [users], "is forbidden"],
    [
      "one of two groups is not allowed",
      { groups: ["dev", "system:masters"] },
      [users, rule("impersonate", "", "groups", ["dev"])],
      "is forbidden",
    ],
    ["the uid is not allowed", { uid: "7" }, [users], "is forbidden"],
    [
      "an extra field is not allowed",
      { extra: { a: ["x", "y"] } },
      [users, rule("impersonate", authentication, "userextras/a", ["x"])],
      "is forbidden",
    ],
    [
      "users do not include service accounts",
      { username: "system:serviceaccount:a:b" },
      [users],
      "is forbidden",
    ],
  ])("%s", (_, wanted, rules, message) => {
    expect(run(wanted, rules)).toContain(message);
  });
});
