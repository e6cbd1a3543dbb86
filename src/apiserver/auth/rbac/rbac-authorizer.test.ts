import { beforeEach, describe, expect, test } from "vitest";
import type { UserInfo } from "../../request/user-info.ts";
import { type Attributes, resourceAttributes } from "../attributes.ts";
import { listSource } from "./list-source.fixture.ts";
import { createRbacAuthorizer, type RbacAuthorizer } from "./rbac-authorizer.ts";
import { type PolicyRule, type RbacObject, rbacGroup, type Subject } from "./rbac-objects.ts";

const readPods: PolicyRule = { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] };
const oneSecret: PolicyRule = {
  apiGroups: [""],
  resources: ["secrets"],
  verbs: ["get"],
  resourceNames: ["s"],
};

function role(name: string, rules: PolicyRule[], namespace?: string): RbacObject {
  const kind = namespace ? "Role" : "ClusterRole";
  return { apiVersion: `${rbacGroup}/v1`, kind, metadata: { name, namespace }, rules };
}

function bind(name: string, [kind, roleName]: string[], subjects: Subject[], namespace?: string): RbacObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: namespace ? "RoleBinding" : "ClusterRoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: rbacGroup, kind: kind ?? "", name: roleName ?? "" },
    subjects,
  };
}

const jane: UserInfo = { username: "jane", groups: ["dev"], extra: {} };
const account: UserInfo = { username: "system:serviceaccount:a:builder", groups: [], extra: {} };

let objects: RbacObject[];
let rbac: RbacAuthorizer;
beforeEach(() => {
  objects = [
    role("pod-reader", [readPods]),
    role("secret-reader", [oneSecret], "a"),
    bind("all", ["ClusterRole", "pod-reader"], [{ kind: "Group", name: "ops" }]),
    bind("in-a", ["ClusterRole", "pod-reader"], [{ kind: "Group", name: "dev" }], "a"),
    bind("secrets", ["Role", "secret-reader"], [{ kind: "User", name: "jane" }], "a"),
    bind("builders", ["ClusterRole", "pod-reader"], [{ kind: "ServiceAccount", name: "builder" }], "a"),
    bind(
      "far",
      ["ClusterRole", "pod-reader"],
      [{ kind: "ServiceAccount", name: "builder", namespace: "a" }],
      "b",
    ),
  ];
  rbac = createRbacAuthorizer(listSource(objects));
});

const ask = (user: UserInfo, more: Partial<Attributes>) =>
  rbac.authorize(resourceAttributes({ user, verb: "get", resource: "pods", ...more }));

describe("authorize", () => {
  test.each<[string, UserInfo, Partial<Attributes>, boolean]>([
    ["a group in its namespace", jane, { namespace: "a" }, true],
    ["but in no other", jane, { namespace: "b" }, false],
    ["nor cluster-wide", jane, {}, false],
    ["a cluster role binding everywhere", { ...jane, groups: ["ops"] }, { namespace: "b" }, true],
    ["and cluster-wide", { ...jane, groups: ["ops"] }, {}, true],
    ["a user by name of the object", jane, { resource: "secrets", namespace: "a", name: "s" }, true],
    ["but no other object", jane, { resource: "secrets", namespace: "a", name: "t" }, false],
    ["nor a list of them", jane, { resource: "secrets", namespace: "a", verb: "list" }, false],
    ["a service account of the binding's namespace", account, { namespace: "a" }, true],
    ["a service account of another namespace", account, { namespace: "b" }, true],
    [
      "a user is not a group of that name",
      { username: "dev", groups: [], extra: {} },
      { namespace: "a" },
      false,
    ],
    [
      "nor a group a user",
      { username: "x", groups: ["jane"], extra: {} },
      { resource: "secrets", namespace: "a", name: "s" },
      false,
    ],
  ])("%s", (_, user, asked, allowed) => {
    expect(ask(user, asked).allowed).toBe(allowed);
    // From memory.
    expect(ask(user, asked).allowed).toBe(allowed);
  });

  test.each<[UserInfo, Partial<Attributes>, string]>([
    [
      { ...jane, groups: ["ops"] },
      {},
      'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "pod-reader" to Group "ops"',
    ],
    [
      jane,
      { resource: "secrets", namespace: "a", name: "s" },
      'RBAC: allowed by RoleBinding "secrets/a" of Role "secret-reader" to User "jane"',
    ],
    [
      account,
      { namespace: "a" },
      'RBAC: allowed by RoleBinding "builders/a" of ClusterRole "pod-reader" to ServiceAccount "builder/a"',
    ],
    [jane, { namespace: "b" }, ""],
  ])("%j on %j: %s", (user, asked, reason) => {
    expect(ask(user, asked).reason).toBe(reason);
  });

  test("reports a binding to a missing role when nothing else allows the request", () => {
    objects.push(bind("broken", ["ClusterRole", "gone"], [{ kind: "User", name: "jane" }]));
    expect(ask(jane, { namespace: "b" }).reason).toBe(`RBAC: clusterrole.${rbacGroup} "gone" not found`);
    objects.push(bind("broken", ["Role", "lost"], [{ kind: "User", name: "jane" }], "b"));
    rbac.changed("b");
    expect(ask(jane, { namespace: "b" }).reason).toBe(
      `RBAC: [clusterrole.${rbacGroup} "gone" not found, role.${rbacGroup} "lost" not found]`,
    );
    expect(ask(jane, { namespace: "a" }).allowed).toBe(true);
  });
});

describe("changes take effect immediately", () => {
  const deny = (remove: string) => {
    objects.splice(
      objects.findIndex((object) => object.metadata.name === remove),
      1,
    );
  };
  test.each([
    ["a binding goes", () => deny("in-a"), "a"],
    ["a cluster role goes", () => deny("pod-reader"), undefined],
  ])("%s", (_, change, namespace) => {
    expect(ask(jane, { namespace: "a" }).allowed).toBe(true);
    change();
    rbac.changed(namespace);
    expect(ask(jane, { namespace: "a" }).allowed).toBe(false);
  });

  test("after a binding is created", () => {
    expect(ask(jane, { namespace: "c" }).allowed).toBe(false);
    objects.push(bind("new", ["ClusterRole", "pod-reader"], [{ kind: "User", name: "jane" }], "c"));
    rbac.changed("c");
    expect(ask(jane, { namespace: "c" }).allowed).toBe(true);
  });
});

test("cache keys of different requests never collide", () => {
  objects.push(role("odd", [{ apiGroups: ["*"], resources: ["x"], verbs: ["*"] }]));
  objects.push(bind("odd", ["ClusterRole", "odd"], [{ kind: "User", name: "jane" }]));
  rbac.changed();
  expect(ask(jane, { verb: "get\0pods", apiGroup: "", resource: "x" }).allowed).toBe(true);
  expect(ask(jane, { verb: "get", apiGroup: "pods", resource: "x" }).allowed).toBe(true);
  for (const [verb, apiGroup, resource] of [
    ["getp", "ods", "x/"],
    ["get", "p", "odsx"],
    ["get", "", "podsx"],
  ] as const) {
    expect(ask(jane, { verb, apiGroup, resource }).allowed).toBe(false);
  }
});

test("rulesFor lists each binding's rules once", () => {
  objects.push(
    bind(
      "twice",
      ["ClusterRole", "pod-reader"],
      [
        { kind: "User", name: "jane" },
        { kind: "Group", name: "dev" },
      ],
      "a",
    ),
  );
  expect(rbac.rulesFor(jane, "a")).toEqual({ rules: [oneSecret, readPods, readPods], problem: "" });
  expect(rbac.rulesFor(jane, "")).toEqual({ rules: [], problem: "" });
});
