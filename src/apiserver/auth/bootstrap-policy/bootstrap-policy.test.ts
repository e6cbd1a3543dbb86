import { describe, expect, test } from "vitest";
import { anonymousUser, type UserInfo } from "../../request/user-info.ts";
import { type Attributes, resourceAttributes } from "../attributes.ts";
import { createNodeAuthorizer } from "../node/node-authorizer.ts";
import { createNodeGraph } from "../node/node-graph.ts";
import { listSource } from "../rbac/list-source.fixture.ts";
import { createRbacAuthorizer } from "../rbac/rbac-authorizer.ts";
import type { ClusterRole, ClusterRoleBinding, RbacObject } from "../rbac/rbac-objects.ts";
import { createAuthorizer } from "../request-authorizer.ts";
import { bootstrapPolicyObjects, reconcilePolicy } from "./bootstrap-policy.ts";

const objects = bootstrapPolicyObjects();
const nodes = createNodeAuthorizer(createNodeGraph());
const authorize = createAuthorizer(nodes, createRbacAuthorizer(listSource(objects)));

const user = (username: string, ...groups: string[]): UserInfo => ({
  username,
  groups: [...groups, "system:authenticated"],
  extra: {},
});

test("contains upstream's objects once each, and those of Kindling's components", () => {
  const keys = objects.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ""}/${metadata.name}`);
  expect(new Set(keys).size).toBe(keys.length);
  const count = (kind: string) => objects.filter((object) => object.kind === kind).length;
  expect(["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map(count)).toEqual([74, 56, 8, 8]);
});

describe("paths", () => {
  const open = ["/livez", "/readyz", "/healthz", "/version", "/version/"];
  const closed = [
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/openapi/v3",
    "/metrics",
    "/livez/ping",
    "/openid/v1/jwks",
  ];
  const ask = (who: UserInfo, path: string, verb = "get") =>
    authorize({ ...resourceAttributes({ user: who, verb, resource: "" }), isResourceRequest: false, path })
      .allowed;

  test.each(open)("every user may get %s", (path) => {
    expect(ask(anonymousUser, path)).toBe(true);
    expect(ask(anonymousUser, path, "post")).toBe(false);
  });
  test.each(closed)("the anonymous user may not get %s", (path) => {
    expect(ask(anonymousUser, path)).toBe(false);
  });
  test.each(["/api", "/apis/apps/v1", "/openapi/v3/api/v1"])(
    "every authenticated user may get %s",
    (path) => {
      expect(ask(user("jane"), path)).toBe(true);
    },
  );
  test("service accounts may read the token keys, and system:monitoring the metrics", () => {
    expect(ask(user("jane"), "/openid/v1/jwks")).toBe(false);
    expect(ask(user("sa", "system:serviceaccounts"), "/openid/v1/jwks")).toBe(true);
    expect(ask(user("prom", "system:monitoring"), "/metrics")).toBe(true);
  });
});

describe("resources", () => {
  const node = user("system:node:n1", "system:nodes");
  const list = (resource: string, more: Partial<Attributes> = {}) => ({ verb: "list", resource, ...more });
  test.each<[string, UserInfo, Partial<Attributes>, boolean]>([
    ["the anonymous user sees nothing", anonymousUser, list("pods"), false],
    [
      "a node reads the cluster's uid",
      node,
      { verb: "get", resource: "namespaces", name: "kube-system" },
      true,
    ],
    ["and no other namespace", node, { verb: "get", resource: "namespaces", name: "default" }, false],
    ["nor all of them", node, list("namespaces"), false],
    [
      "nor asks about itself",
      anonymousUser,
      { verb: "create", apiGroup: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
      false,
    ],
    [
      "every authenticated user may review its own access",
      user("jane"),
      { verb: "create", apiGroup: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
      true,
    ],
    [
      "its own identity",
      user("jane"),
      { verb: "create", apiGroup: "authentication.k8s.io", resource: "selfsubjectreviews" },
      true,
    ],
    ["but sees nothing", user("jane"), list("pods"), false],
    ["masters do everything", user("a", "system:masters"), { verb: "anything", resource: "x" }, true],
    [
      "the scheduler binds pods",
      user("system:kube-scheduler"),
      { verb: "create", resource: "pods", subresource: "binding" },
      true,
    ],
    ["the scheduler reads no secrets", user("system:kube-scheduler"), list("secrets"), false],
    [
      "the controller manager lists everything",
      user("system:kube-controller-manager"),
      list("anything"),
      true,
    ],
    [
      "a controller's account has its role",
      user("system:serviceaccount:kube-system:replicaset-controller"),
      { verb: "create", resource: "pods" },
      true,
    ],
    [
      "the API server reaches every path of a kubelet",
      user("kube-apiserver-kubelet-client"),
      { verb: "create", resource: "nodes", subresource: "proxy", name: "n" },
      true,
    ],
    ["but reads no secrets", user("kube-apiserver-kubelet-client"), list("secrets"), false],
    ["a node has no role", user("system:node:n", "system:nodes"), list("secrets", { namespace: "a" }), false],
  ])("%s", (_, who, asked, allowed) => {
    const attributes = resourceAttributes({ user: who, verb: "", resource: "", ...asked });
    expect(authorize(attributes).allowed).toBe(allowed);
  });

  test("the denial of a node has a reason", () => {
    const attributes = resourceAttributes({
      user: user("system:node:n", "system:nodes"),
      verb: "list",
      resource: "secrets",
      namespace: "a",
    });
    expect(authorize(attributes).reason).toBe("No Object name found");
  });
});

test("view, edit and admin contain their aggregated rules", () => {
  const rules = (name: string) => listSource(objects).clusterRole(name)?.rules ?? [];
  expect(["view", "edit", "admin"].map((name) => rules(name).length)).toEqual([12, 27, 29]);
  expect(rules("view").some((rule) => rule.resources?.includes("secrets"))).toBe(false);
});

describe("reconcilePolicy", () => {
  const clusterRole = objects.find(({ metadata }) => metadata.name === "system:basic-user") as ClusterRole;
  const binding = objects.find(
    ({ kind, metadata }) => kind === "ClusterRoleBinding" && metadata.name === "system:discovery",
  ) as ClusterRoleBinding;
  const view = objects.find(({ metadata }) => metadata.name === "view") as ClusterRole;
  /** Actions when one object is stored in this form and the others are correct. */
  const plan = (changed: RbacObject) =>
    reconcilePolicy((expected) =>
      expected.kind === changed.kind && expected.metadata.name === changed.metadata.name ? changed : expected,
    );

  test("creates everything in an empty cluster and nothing in a complete one", () => {
    expect(reconcilePolicy(() => undefined).map((action) => action.kind)).toEqual(
      objects.map(() => "create"),
    );
    expect(reconcilePolicy((expected) => ({ ...expected }))).toEqual([]);
  });

  test.each<[string, RbacObject, object[]]>([
    [
      "a rule that was taken away comes back",
      { ...clusterRole, rules: clusterRole.rules?.slice(1) },
      [{ kind: "update" }],
    ],
    [
      "a rule that was added stays",
      { ...clusterRole, rules: [...(clusterRole.rules ?? []), { verbs: ["x"] }] },
      [],
    ],
    [
      "what is protected is left alone",
      {
        ...clusterRole,
        rules: [],
        metadata: {
          name: clusterRole.metadata.name,
          annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" },
        },
      },
      [],
    ],
    [
      "a subject that was taken away comes back",
      { ...binding, subjects: [] },
      [{ kind: "update", object: { subjects: binding.subjects } }],
    ],
    [
      "a subject that was added stays",
      { ...binding, subjects: [...(binding.subjects ?? []), { kind: "User", name: "x" }] },
      [],
    ],
    [
      "a binding to another role is made again",
      { ...binding, roleRef: { ...binding.roleRef, name: "x" } },
      [{ kind: "recreate", object: binding }],
    ],
    ["rules of an aggregated role are not its own", { ...view, rules: [] }, []],
    [
      "a selector comes back",
      { ...view, aggregationRule: undefined },
      [{ kind: "update", object: { aggregationRule: view.aggregationRule } }],
    ],
    [
      "a role that should not gather does not",
      { ...clusterRole, aggregationRule: view.aggregationRule },
      [{ kind: "update", object: clusterRole }],
    ],
  ])("%s", (_, changed, expected) => {
    expect(plan(changed)).toMatchObject(expected);
    expect(plan(changed)).toHaveLength(expected.length);
  });
});
