import { beforeAll, describe, expect, test } from "vitest";
import type { KubeObject, Pod } from "../../../src/api/meta/objects.ts";
import type { ApiClient } from "../../support/servers/api-server.ts";
import { useSecureServer } from "../../support/servers/secure-server.ts";

const { server, secrets, as, expectSilence } = useSecureServer();
const core = "/api/v1/namespaces/default";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Permissions of a kubelet: its own node, its own pods, and the objects they refer to. */
describe("a node", () => {
  let node: ApiClient;

  beforeAll(async () => {
    for (const name of ["mounted", "in-env", "pulled", "other"]) {
      secrets.add(`contents of ${name}`);
      const content = { metadata: { name }, stringData: { text: `contents of ${name}` } };
      await server().json("POST", `${core}/secrets`, content);
      await server().json("POST", `${core}/configmaps`, { metadata: { name } });
    }
    await server().json("POST", `${core}/pods`, {
      metadata: { name: "mine" },
      spec: {
        nodeName: "n1",
        imagePullSecrets: [{ name: "pulled" }],
        volumes: [
          { name: "s", secret: { secretName: "mounted" } },
          { name: "c", configMap: { name: "mounted" } },
        ],
        containers: [
          {
            name: "c",
            image: "i",
            envFrom: [{ secretRef: { name: "in-env" } }, { configMapRef: { name: "in-env" } }],
          },
        ],
      },
    });
    await server().json("POST", `${core}/pods`, {
      metadata: { name: "theirs" },
      spec: {
        nodeName: "n2",
        volumes: [{ name: "s", secret: { secretName: "other" } }],
        containers: [{ name: "c", image: "i" }],
      },
    });
    for (const name of ["n1", "n2"]) await server().json("POST", "/api/v1/nodes", { metadata: { name } });
    node = as("system:node:n1", "system:nodes");
  });

  test.each([
    ["the secret a pod of it mounts", `${core}/secrets/mounted`, 200],
    ["the secret in a pod's environment", `${core}/secrets/in-env`, 200],
    ["the secret that pulls a pod's image", `${core}/secrets/pulled`, 200],
    ["another's secret", `${core}/secrets/other`, 403],
    ["a secret that is not there", `${core}/secrets/nothing`, 403],
    ["all secrets", `${core}/secrets`, 403],
    [
      "a watch on the secret it needs",
      `${core}/secrets?fieldSelector=metadata.name%3Dmounted&watch=1&timeoutSeconds=1`,
      200,
    ],
    [
      "a watch on another's",
      `${core}/secrets?fieldSelector=metadata.name%3Dother&watch=1&timeoutSeconds=1`,
      403,
    ],
    ["the config map a pod of it mounts", `${core}/configmaps/mounted`, 200],
    ["the cluster's certificate", `${core}/configmaps/kube-root-ca.crt`, 200],
    ["another's config map", `${core}/configmaps/other`, 403],
    ["its pod", `${core}/pods/mine`, 200],
    ["another's pod", `${core}/pods/theirs`, 403],
    ["its pods", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", 200],
    ["another's pods", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", 403],
    ["all pods", "/api/v1/pods", 403],
    ["all but its pods", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1", 403],
    ["itself", "/api/v1/nodes/n1", 200],
    ["another node", "/api/v1/nodes/n2", 403],
    ["services", "/api/v1/services", 200],
    ["runtime classes", "/apis/node.k8s.io/v1/runtimeclasses", 200],
    ["deployments", "/apis/apps/v1/deployments", 403],
    ["roles", "/apis/rbac.authorization.k8s.io/v1/clusterroles", 403],
  ])("reads %s: %s is %i", async (_, path, status) => {
    expect((await node.call("GET", path)).status).toBe(status);
  });

  test("lists only the pods of its field selector", async () => {
    const list = await node.json<KubeObject & { items: Pod[] }>(
      "GET",
      "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
    );
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["mine"]);
  });

  const merge = { "content-type": "application/merge-patch+json" };

  test.each([
    ["its pod's status", "PATCH", `${core}/pods/mine/status`, { status: { phase: "Running" } }, 200],
    ["another's pod's status", "PATCH", `${core}/pods/theirs/status`, { status: { phase: "Running" } }, 403],
    [
      "its pod's labels through the status",
      "PATCH",
      `${core}/pods/mine/status`,
      { metadata: { labels: { a: "b" } } },
      403,
    ],
    ["its pod's spec", "PATCH", `${core}/pods/mine`, { spec: { containers: [] } }, 403],
    [
      "its own status",
      "PATCH",
      "/api/v1/nodes/n1/status",
      { status: { nodeInfo: { kubeletVersion: "v1" } } },
      200,
    ],
    ["another's status", "PATCH", "/api/v1/nodes/n2/status", { status: {} }, 403],
    ["its own label", "PATCH", "/api/v1/nodes/n1", { metadata: { labels: { "example.org/x": "1" } } }, 200],
    [
      "a label that it may not give itself",
      "PATCH",
      "/api/v1/nodes/n1",
      { metadata: { labels: { "node-restriction.kubernetes.io/x": "1" } } },
      403,
    ],
    ["its taints", "PATCH", "/api/v1/nodes/n1", { spec: { taints: [] } }, 200],
    ["a node of another name", "POST", "/api/v1/nodes", { metadata: { name: "n3" } }, 403],
    ["its lease", "POST", leases, { metadata: { name: "n1" }, spec: { holderIdentity: "n1" } }, 201],
    ["its lease again", "PATCH", `${leases}/n1`, { spec: { renewTime: "2026-01-01T00:00:00.000000Z" } }, 200],
    ["another's lease", "POST", leases, { metadata: { name: "n2" } }, 403],
    [
      "a lease elsewhere",
      "POST",
      "/apis/coordination.k8s.io/v1/namespaces/default/leases",
      { metadata: { name: "n1" } },
      403,
    ],
    [
      "a pod that is no mirror",
      "POST",
      `${core}/pods`,
      { metadata: { name: "new" }, spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] } },
      403,
    ],
    [
      "a mirror pod on itself",
      "POST",
      `${core}/pods`,
      {
        metadata: {
          name: "mirror",
          annotations: { "kubernetes.io/config.mirror": "x" },
          ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "UID", controller: true }],
        },
        spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
      },
      201,
    ],
    [
      "a token for its pod's account",
      "POST",
      `${core}/serviceaccounts/default/token`,
      { spec: { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "mine", uid: "PODUID" } } },
      201,
    ],
    ["a token bound to nothing", "POST", `${core}/serviceaccounts/default/token`, {}, 403],
    [
      "an event",
      "POST",
      `${core}/events`,
      {
        metadata: { name: "e" },
        involvedObject: { kind: "Pod", name: "mine", namespace: "default" },
        reason: "Started",
        type: "Normal",
      },
      201,
    ],
    ["a secret", "POST", `${core}/secrets`, { metadata: { name: "new" } }, 403],
  ])("writes %s", async (_, method, path, body, code) => {
    const uids = { UID: await uidOf("/api/v1/nodes/n1"), PODUID: await uidOf(`${core}/pods/mine`) };
    const text = JSON.stringify(body).replace(
      /"(UID|PODUID)"/,
      (_match, name: "UID" | "PODUID") => `"${uids[name]}"`,
    );
    const response = await node.call(method, path, {
      body: text,
      ...(method === "PATCH" ? { headers: merge } : {}),
    });
    expect(response.status, response.text).toBe(code);
    const token = /"token":"([^"]+)"/.exec(response.text)?.[1];
    if (token) secrets.add(token);
  });

  test("deletes its own pods and no others", async () => {
    expect((await node.call("DELETE", `${core}/pods/theirs`)).status).toBe(403);
    expect((await node.call("DELETE", `${core}/pods/mine`, { body: { gracePeriodSeconds: 0 } })).status).toBe(
      200,
    );
  });

  test("loses access to a secret with the last pod that refers to it", async () => {
    expect((await node.call("GET", `${core}/secrets/mounted`)).status).toBe(403);
  });

  test("with the name only, without the group, has no rights", async () => {
    expect((await as("system:node:n1").call("GET", "/api/v1/nodes/n1")).status).toBe(403);
  });

  const uidOf = async (path: string) => (await server().json("GET", path)).metadata.uid;
});

expectSilence();
