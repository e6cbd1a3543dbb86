import { beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import type { Status } from "../../../src/api/meta/status-error.ts";
import type { ApiClient } from "../../support/servers/api-server.ts";
import { aliceToken, useSecureServer, withToken } from "../../support/servers/secure-server.ts";

type Access = KubeObject & { status: { allowed: boolean } };

const { server, secrets, as, expectSilence } = useSecureServer();
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const apiGroup = "rbac.authorization.k8s.io";

const role = (name: string, ...rules: object[]) => ({ metadata: { name }, rules });
const rule = (verbs: string, resources: string, more: object = {}) => ({
  apiGroups: ["", "apps", "rbac.authorization.k8s.io"],
  verbs: verbs.split(","),
  resources: resources.split(","),
  ...more,
});
const binding = (name: string, kind: "Role" | "ClusterRole", roleName: string, ...subjects: object[]) => ({
  metadata: { name },
  roleRef: { apiGroup, kind, name: roleName },
  subjects,
});
const user = (name: string) => ({ apiGroup, kind: "User", name });
const group = (name: string) => ({ apiGroup, kind: "Group", name });

describe("RBAC", () => {
  beforeAll(async () => {
    await server().json("POST", "/api/v1/namespaces", { metadata: { name: "team" } });
    await server().json(
      "POST",
      `${rbac}/namespaces/team/roles`,
      role("reader", rule("get,list,watch", "pods,configmaps")),
    );
    await server().json(
      "POST",
      `${rbac}/namespaces/team/roles`,
      role("one-secret", rule("get", "secrets", { resourceNames: ["mine"] })),
    );
    const bind = (body: object) => server().json("POST", `${rbac}/namespaces/team/rolebindings`, body);
    await bind(
      binding("readers", "Role", "reader", group("devs"), {
        kind: "ServiceAccount",
        name: "robot",
        namespace: "team",
      }),
    );
    await bind(binding("mine", "Role", "one-secret", group("devs")));
    for (const name of ["mine", "theirs"]) {
      secrets.add(`the secret that is ${name}`);
      const stringData = { text: `the secret that is ${name}` };
      await server().json("POST", "/api/v1/namespaces/team/secrets", { metadata: { name }, stringData });
    }
  });

  test.each([
    ["GET", "/api/v1/namespaces/team/pods", 200],
    ["GET", "/api/v1/namespaces/team/pods?watch=true&timeoutSeconds=1", 200],
    ["GET", "/api/v1/namespaces/team/configmaps/kube-root-ca.crt", 200],
    ["GET", "/api/v1/namespaces/default/pods", 403],
    ["GET", "/api/v1/pods", 403],
    ["GET", "/api/v1/namespaces/team/pods/x/log", 403],
    ["POST", "/api/v1/namespaces/team/configmaps", 403],
    ["DELETE", "/api/v1/namespaces/team/configmaps/kube-root-ca.crt", 403],
    ["DELETE", "/api/v1/namespaces/team/configmaps", 403],
    ["GET", "/api/v1/namespaces/team/secrets/mine", 200],
    ["GET", "/api/v1/namespaces/team/secrets/theirs", 403],
    ["GET", "/api/v1/namespaces/team/secrets", 403],
    ["GET", "/api/v1/namespaces/team/secrets?fieldSelector=metadata.name%3Dmine", 403],
    ["PATCH", "/api/v1/namespaces/team/secrets/mine", 403],
    ["GET", "/apis", 200],
    ["GET", "/metrics", 403],
  ])("alice of the devs: %s %s is %i", async (method, path, status) => {
    const options = {
      ...withToken(aliceToken),
      ...(method === "POST" || method === "PATCH" ? { body: {} } : {}),
    };
    expect((await server().call(method, path, options)).status).toBe(status);
  });

  test("a service account has the permissions of its bindings while they exist", async () => {
    await server().json("POST", "/api/v1/namespaces/team/serviceaccounts", { metadata: { name: "robot" } });
    const path = "/api/v1/namespaces/team/serviceaccounts/robot/token";
    const { status } = await server().json<KubeObject & { status: { token: string } }>("POST", path, {});
    secrets.add(status.token);
    const list = async () =>
      (await server().call("GET", "/api/v1/namespaces/team/pods", withToken(status.token))).status;
    expect(await list()).toBe(200);
    await server().json("DELETE", `${rbac}/namespaces/team/rolebindings/readers`);
    expect(await list()).toBe(403);
    const devs = [group("devs"), { kind: "ServiceAccount", name: "robot", namespace: "team" }];
    await server().json(
      "POST",
      `${rbac}/namespaces/team/rolebindings`,
      binding("readers", "Role", "reader", ...devs),
    );
    expect(await list()).toBe(200);
  });

  test("reviews return the same decisions as requests", async () => {
    const may = async (client: ApiClient, verb: string, resource: string) => {
      const spec = { resourceAttributes: { verb, resource, namespace: "team" } };
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      return (await client.json<Access>("POST", path, { spec })).status.allowed;
    };
    const dev = as("dora", "devs");
    expect(await may(dev, "list", "pods")).toBe(true);
    expect(await may(dev, "create", "pods")).toBe(false);
    const others = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    expect((await dev.call("POST", others, { body: { spec: { user: "bob" } } })).status).toBe(403);
  });
});

describe("impersonation", () => {
  const impersonate = (headers: Record<string, string>) =>
    server().call("GET", "/api/v1/namespaces/team/pods", { headers });

  test("gives exactly the permissions of the impersonated user", async () => {
    expect((await impersonate({ "impersonate-user": "dora" })).status).toBe(403);
    expect((await impersonate({ "impersonate-user": "dora", "impersonate-group": "devs" })).status).toBe(200);
    expect((await impersonate({ "impersonate-user": "system:anonymous" })).status).toBe(403);
  });

  test.each([
    ["a user", { "impersonate-user": "kubernetes-admin" }, "impersonate-on:user-info:list"],
    [
      "a group",
      { "impersonate-user": "bob", "impersonate-group": "system:masters" },
      "impersonate-on:user-info:list",
    ],
    [
      "a service account",
      { "impersonate-user": "system:serviceaccount:kube-system:default" },
      "impersonate-on:serviceaccount:list",
    ],
  ])("of %s takes a right to it", async (_, headers, verb) => {
    const response = await as("dora", "devs").call("GET", "/api/v1/namespaces/team/pods", { headers });
    expect(response.status).toBe(403);
    expect(response.json<Status>().message).toBe(
      `pods is forbidden: User "dora" cannot ${verb} resource "pods" in API group "" in the namespace "team"`,
    );
  });

  test("permission for one name does not allow other names or groups", async () => {
    await server().json(
      "POST",
      `${rbac}/clusterroles`,
      role("as-bob", {
        apiGroups: [""],
        resources: ["users"],
        verbs: ["impersonate"],
        resourceNames: ["bob"],
      }),
    );
    await server().json(
      "POST",
      `${rbac}/clusterrolebindings`,
      binding("as-bob", "ClusterRole", "as-bob", user("helper")),
    );
    const helper = as("helper");
    const whoAmI = async (headers: Record<string, string>) =>
      (await helper.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", { body: {}, headers }))
        .status;
    expect(await whoAmI({ "impersonate-user": "bob" })).toBe(201);
    expect(await whoAmI({ "impersonate-user": "kubernetes-admin" })).toBe(403);
    expect(await whoAmI({ "impersonate-user": "bob", "impersonate-group": "system:masters" })).toBe(403);
    expect(await whoAmI({ "impersonate-user": "bob", "impersonate-extra-scopes": "x" })).toBe(403);
  });

  test("rejects groups without a user", async () => {
    expect((await impersonate({ "impersonate-group": "system:masters" })).status).toBe(400);
  });
});

describe("escalation", () => {
  let editor: ApiClient;
  beforeAll(async () => {
    const rules = [rule("create,update,patch,get", "roles,rolebindings"), rule("get", "pods")];
    await server().json("POST", `${rbac}/namespaces/team/roles`, role("role-editor", ...rules));
    await server().json(
      "POST",
      `${rbac}/namespaces/team/rolebindings`,
      binding("role-editor", "Role", "role-editor", user("ed")),
    );
    editor = as("ed");
  });

  test.each([
    ["a role with what one has", "roles", role("same", rule("get", "pods")), 201],
    ["a role with more", "roles", role("more", rule("get", "secrets")), 403],
    ["a role with everything", "roles", role("all", rule("*", "*", { apiGroups: ["*"] })), 403],
    ["a binding to more", "rolebindings", binding("more", "ClusterRole", "cluster-admin", user("ed")), 403],
    [
      "a binding to a role that is not there",
      "rolebindings",
      binding("none", "Role", "nothing", user("ed")),
      404,
    ],
    [
      "a binding to what one has",
      "rolebindings",
      binding("same", "Role", "role-editor", user("friend")),
      201,
    ],
  ])("%s", async (_, kind, body, status) => {
    const response = await editor.call("POST", `${rbac}/namespaces/team/${kind}`, { body });
    expect(response.status, response.text).toBe(status);
  });

  test("is reported with upstream's message, and also rejected in a patch", async () => {
    const response = await editor.call("POST", `${rbac}/namespaces/team/roles`, {
      body: role("more", rule("get", "secrets", { apiGroups: [""] })),
    });
    expect(response.json<Status>().message).toBe(
      'roles.rbac.authorization.k8s.io "more" is forbidden: user "ed" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    );
    const patch = [{ op: "add", path: "/rules/-", value: rule("get", "secrets") }];
    const headers = { "content-type": "application/json-patch+json" };
    const patched = await editor.call("PATCH", `${rbac}/namespaces/team/roles/role-editor`, {
      body: patch,
      headers,
    });
    expect(patched.status).toBe(403);
  });
});

expectSilence();
