import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultFeatures } from "../../src/api/meta/feature-gates.ts";
import type { Client } from "../../src/client/api/client.ts";
import { createClient } from "../../src/client/api/create-client.ts";
import { TransportError } from "../../src/client/transport/transport.ts";
import { type ControlPlane, type Subject, startControlPlane } from "../../src/cluster/parts/control-plane.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";

let folder: string;
let controlPlane: ControlPlane;
const clients: Client[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-in-process-"));
  controlPlane = await startControlPlane({
    dataDir: folder,
    store: { kind: "memory" },
    listen: { host: "127.0.0.1", port: 0 },
    features: defaultFeatures,
    logger: silentLogger,
  });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await controlPlane?.close();
  await rm(folder, { recursive: true, force: true });
});

function connect(subject: Subject): Client {
  const client = createClient({ transport: controlPlane.connect(subject), userAgent: "test" });
  clients.push(client);
  return client;
}
const admin = () => connect({ commonName: "admin", organizations: ["system:masters"] });

test("objects are written and read as over a connection", async () => {
  const client = admin();
  const { metadata } = await client.create("configmaps", makeConfigMap("one"));
  expect(await client.get("configmaps", { namespace: "default", name: "one" })).toMatchObject({
    metadata: { uid: metadata.uid },
  });
  await expect(client.create("configmaps", makeConfigMap("one"))).rejects.toMatchObject({
    code: 409,
    reason: "AlreadyExists",
  });
  await expect(client.create("configmaps", makeConfigMap("No such name"))).rejects.toMatchObject({
    code: 422,
  });
});

test("each client has the permissions of its user", async () => {
  const node = connect({ commonName: "system:node:a", organizations: ["system:nodes"] });
  await expect(node.list("secrets", { namespace: "kube-system" })).rejects.toMatchObject({ code: 403 });
  const stranger = connect({ commonName: "stranger" });
  await expect(stranger.list("pods", {})).rejects.toMatchObject({ code: 403, reason: "Forbidden" });
});

test("a watch sends events until its reader stops or aborts", async () => {
  const client = admin();
  const { resourceVersion } = await client.list("configmaps", { namespace: "default" });
  const stop = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    const options = { namespace: "default", resourceVersion, signal: stop.signal };
    for await (const event of client.watch("configmaps", options)) {
      if (event.type !== "BOOKMARK") seen.push(`${event.type} ${event.object.metadata.name}`);
    }
  })();
  await client.create("configmaps", makeConfigMap("two"));
  await client.delete("configmaps", { namespace: "default", name: "two" });
  await expect.poll(() => seen).toEqual(["ADDED two", "DELETED two"]);
  stop.abort(new Error("enough"));
  await expect(watching).rejects.toThrow("enough");

  for await (const event of client.watch("configmaps", { namespace: "default", resourceVersion })) {
    expect(event.type).toBe("ADDED");
    break;
  }
});

test("an outage ends watches and rejects calls; afterwards both work again", async () => {
  const client = admin();
  const { resourceVersion } = await client.list("configmaps", { namespace: "default" });
  const watching = (async () => {
    for await (const _ of client.watch("configmaps", { namespace: "default", resourceVersion }));
  })();
  const cutOff = expect(watching).rejects.toThrow(TransportError);
  // The watch is open when an earlier request has a response.
  await client.get("namespaces", { name: "default" });
  await controlPlane.stopServing();
  await cutOff;
  await expect(client.list("configmaps", { namespace: "default" })).rejects.toThrow(TransportError);
  await controlPlane.serveAgain();
  expect((await client.list("configmaps", { namespace: "default" })).items.length).toBeGreaterThan(0);
});

test("requests that are proxied to a kubelet use a connection", async () => {
  await expect(
    admin().request("GET", "/api/v1/nodes/missing/proxy/healthz", { signal: AbortSignal.timeout(10_000) }),
  ).rejects.toMatchObject({ code: 404, message: expect.stringContaining("missing") });
});

test("a closed client sends no request", async () => {
  const client = admin();
  client.close();
  await expect(client.list("pods", {})).rejects.toThrow(TransportError);
});
