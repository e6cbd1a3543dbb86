import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import type { ConfigMap } from "../../src/api/meta/objects.ts";
import type { Client, WatchEvent } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { TransportError } from "../../src/client/transport/transport.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { ownPort } from "../support/network/own-share.ts";
import { readCredentials, startTestServer, type TestServer } from "../support/servers/api-server.ts";

const namespace = "default";

function configMap(
  name: string,
  data: Record<string, string> = {},
  labels?: Record<string, string>,
): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels }, data };
}

describe("a client with the server's kubeconfig", () => {
  const folder = temporaryFolder();
  let server: TestServer;
  let client: Client;

  beforeAll(async () => {
    const tokens = 'first-token,alice,1,"system:masters"\nsecond-token,bob,2,"system:masters"\n';
    server = await startTestServer({ tokens });
    client = await connectCluster({ kubeconfig: server.kubeconfig, userAgent: "client-test" });
  });
  afterAll(async () => {
    client.close();
    await server.close();
  });

  test("creates, reads, updates, patches and deletes", async () => {
    const created = await client.create("configmaps", configMap("verbs", { a: "1" }));
    expect(created.metadata.uid).toBeTruthy();
    expect((await client.get("configmaps", { namespace, name: "verbs" })).data).toEqual({ a: "1" });

    const updated = await client.update("configmaps", { ...created, data: { a: "ä" } });
    expect(updated.data).toEqual({ a: "ä" });
    for (const [kind, body] of [
      ["merge", { data: { b: "2" } }],
      ["strategic", { data: { c: "3" } }],
    ] as const) {
      await client.patch("configmaps", { namespace, name: "verbs" }, { patch: { kind, body } });
    }
    const patched = await client.patch(
      "configmaps",
      { namespace, name: "verbs" },
      { patch: { kind: "json", body: [{ op: "remove", path: "/data/a" }] } },
    );
    expect(patched.data).toEqual({ b: "2", c: "3" });

    await client.delete(
      "configmaps",
      { namespace, name: "verbs" },
      { preconditions: { uid: created.metadata.uid } },
    );
    await expect(client.get("configmaps", { namespace, name: "verbs" })).rejects.toMatchObject({
      code: 404,
      reason: "NotFound",
      message: 'configmaps "verbs" not found',
      details: { kind: "configmaps", name: "verbs" },
    });
  });

  test("throws the server's errors as StatusErrors", async () => {
    const created = await client.create("configmaps", configMap("twice"));
    await expect(client.create("configmaps", configMap("twice"))).rejects.toMatchObject({
      code: 409,
      reason: "AlreadyExists",
    });
    await client.update("configmaps", { ...created, data: { a: "1" } });
    await expect(client.update("configmaps", { ...created, data: { a: "2" } })).rejects.toMatchObject({
      code: 409,
      reason: "Conflict",
    });
    await expect(client.create("configmaps", configMap("Not A Name"))).rejects.toMatchObject({
      code: 422,
      reason: "Invalid",
      details: { causes: [expect.objectContaining({ field: "metadata.name" })] },
    });
    await expect(client.request("GET", "/apis/nothing/v1")).rejects.toMatchObject({ code: 404 });
  });

  test("lists in pages and by selector, with apiVersion and kind of each item", async () => {
    for (let i = 0; i < 5; i++)
      await client.create("configmaps", configMap(`page-${i}`, {}, { paged: "yes" }));
    const selection = { namespace, labelSelector: "paged=yes" };
    const first = await client.list("configmaps", { ...selection, limit: 3 });
    const second = await client.list("configmaps", { ...selection, limit: 3, continue: first.continue });
    expect(second.continue).toBeUndefined();
    expect(second.resourceVersion).toBe(first.resourceVersion);
    const items = [...first.items, ...second.items];
    expect(items.map((item) => item.metadata.name)).toEqual([0, 1, 2, 3, 4].map((i) => `page-${i}`));
    expect(items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });

    await client.deleteCollection("configmaps", selection);
    expect((await client.list("configmaps", selection)).items).toEqual([]);
    // Of a kind of another group, of all namespaces, and of one that has none.
    expect((await client.list("statefulsets")).items).toEqual([]);
    expect((await client.list("namespaces")).items.map((item) => item.metadata.name)).toContain("default");
  });

  test("writes a status separately, and sends non-resource requests", async () => {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    const created = await client.create("nodes", node);
    const condition = { type: "Ready", status: "True" };
    await client.update(
      "nodes",
      { ...created, status: { conditions: [condition] } },
      { subresource: "status" },
    );
    expect((await client.get("nodes", { name: "n1" })).status?.conditions).toEqual([condition]);
    expect(await client.request("GET", "/version")).toHaveProperty("major", "1");
    const review = await client.request<{ status: { allowed: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      { body: { spec: { resourceAttributes: { verb: "get", resource: "pods" } } } },
    );
    expect(review.status.allowed).toBe(true);
  });

  test("watches from a revision, and stops when its signal aborts", async () => {
    const { resourceVersion } = await client.list("configmaps", { namespace });
    const created = await client.create("configmaps", configMap("watched", { a: "1" }));
    await client.update("configmaps", { ...created, data: { a: "2" } });
    await client.delete("configmaps", { namespace, name: "watched" });

    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of client.watch("configmaps", {
        namespace,
        resourceVersion,
        signal: stop.signal,
      })) {
        seen.push(describeEvent(event));
        if (seen.length === 3) stop.abort(new Error("seen enough"));
      }
    })();
    await expect(watching).rejects.toThrow("seen enough");
    expect(seen).toEqual(["ADDED watched 1", "MODIFIED watched 2", "DELETED watched 2"]);
  });

  test("a watch ends at the server's timeout", async () => {
    const events = client.watch("configmaps", { resourceVersion: "0", timeoutSeconds: 1 });
    const names: (string | undefined)[] = [];
    for await (const event of events) if (event.type === "ADDED") names.push(event.object.metadata.name);
    expect(names).toContain("kube-root-ca.crt");
  });

  test("sends the token of a file, and resolves paths relative to the kubeconfig", async () => {
    const { ca } = await readCredentials(server.kubeconfig);
    await writeFile(join(folder, "ca.crt"), ca);
    await writeFile(join(folder, "token"), "first-token\n");
    const kubeconfig = join(folder, "with-token");
    await writeFile(
      kubeconfig,
      stringify({
        "current-context": "here",
        contexts: [{ name: "here", context: { cluster: "here", user: "alice" } }],
        clusters: [{ name: "here", cluster: { server: server.url, "certificate-authority": "ca.crt" } }],
        users: [{ name: "alice", user: { tokenFile: "token" } }],
      }),
    );
    const tokenClient = await connectCluster({ kubeconfig });
    const { status } = await tokenClient.request<{ status: { userInfo: { username: string } } }>(
      "POST",
      "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      { body: {} },
    );
    expect(status.userInfo.username).toBe("alice");
    tokenClient.close();
  });

  test("fails with a TransportError when nothing listens, and after it was closed", async () => {
    const other = await startTestServer({ port: await ownPort() });
    const lonely = await connectCluster({ kubeconfig: other.kubeconfig });
    const keptUrl = other.url;
    await lonely.get("namespaces", { name: "default" });
    await other.close();
    const error = await lonely.get("namespaces", { name: "default" }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TransportError);
    expect(String(error)).toContain(`GET ${keptUrl}/api/v1/namespaces/default: connect ECONNREFUSED`);
    lonely.close();
    await expect(lonely.list("pods")).rejects.toBeInstanceOf(TransportError);
  });
});

function describeEvent(event: WatchEvent<ConfigMap>): string {
  return event.type === "BOOKMARK"
    ? event.type
    : `${event.type} ${event.object.metadata.name} ${event.object.data?.a}`;
}
