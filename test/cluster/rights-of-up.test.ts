import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultFeatures } from "../../src/api/meta/feature-gates.ts";
import { localVolumesUser, monitorUser } from "../../src/apiserver/request/user-info.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster, createClient } from "../../src/client/api/create-client.ts";
import { type ControlPlane, startControlPlane } from "../../src/cluster/parts/control-plane.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { requiredPermissions } from "../../src/monitor/external-cluster/check-cluster.ts";
import { startUp } from "../support/cluster/up-process.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const folder = temporaryFolder();
let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane({
    dataDir: folder,
    store: { kind: "memory" },
    listen: { host: "127.0.0.1", port: 0 },
    features: defaultFeatures,
    logger: silentLogger,
  });
});
afterAll(() => controlPlane?.close());

/** Connects like the components of `up`. */
async function as<T>(commonName: string, act: (client: Client) => Promise<T>): Promise<T> {
  const client = createClient({ transport: controlPlane.connect({ commonName }) });
  return act(client).finally(() => client.close());
}

const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace: "default", name: "s" } };
const storageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "c" },
  provisioner: "x",
};

test("the monitor has only the permissions of the shipped ClusterRole", async () => {
  const review = async (client: Client, resourceAttributes: object) => {
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    };
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const { status } = await client.request<{ status: { allowed: boolean } }>("POST", path, { body });
    return status.allowed;
  };
  await as(monitorUser, async (client) => {
    for (const { verbs, group, resource, subresource } of requiredPermissions)
      for (const verb of verbs)
        expect([verb, resource, await review(client, { verb, group, resource, subresource })]).toEqual([
          verb,
          resource,
          true,
        ]);
    expect((await client.list("pods")).items).toEqual([]);
  });
  const forbidden = (act: string, resource: string) =>
    `${resource} is forbidden: User "${monitorUser}" cannot ${act} resource "${resource}"`;
  await as(monitorUser, async (client) => {
    await expect(client.list("secrets")).rejects.toThrow(forbidden("list", "secrets"));
    await expect(client.create("secrets", secret)).rejects.toThrow(forbidden("create", "secrets"));
    await expect(client.delete("nodes", { name: "n" })).rejects.toThrow(
      `User "${monitorUser}" cannot delete`,
    );
    await expect(client.request("GET", "/metrics")).rejects.toThrow(`User "${monitorUser}" cannot get path`);
  });
});

test("the creator of the first StorageClass has only that permission", async () => {
  await as(localVolumesUser, async (client) => {
    await client.create("storageclasses", storageClass);
    const user = `User "${localVolumesUser}" cannot`;
    await expect(client.list("storageclasses")).rejects.toThrow(`${user} list`);
    await expect(client.delete("storageclasses", { name: "c" })).rejects.toThrow(`${user} delete`);
    await expect(client.create("secrets", secret)).rejects.toThrow(`${user} create`);
  });
});

test("in kindling up they act as these users: without their roles, nothing is allowed to them", async () => {
  const dataDir = join(folder, "up");
  const start = () =>
    startUp(["--data-dir", dataDir, "--runtime", "simulated", "--dashboard", "127.0.0.1:0"]);
  const first = await start();
  const client = await connectCluster(first);
  const standard = { name: "standard" };
  await expect.poll(() => client.get("storageclasses", standard).catch(() => undefined)).toBeDefined();
  for (const name of [monitorUser, localVolumesUser]) {
    const body = {
      metadata: { annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" } },
      rules: [],
    };
    await client.patch("clusterroles", { name }, { patch: { kind: "merge", body } });
  }
  await client.delete("storageclasses", standard);
  client.close();
  expect(await first.kill("SIGTERM")).toBe(0);
  const second = await start();
  for (const refused of [
    `User \\"${monitorUser}\\" cannot list resource \\"pods\\"`,
    `User \\"${localVolumesUser}\\" cannot create resource \\"storageclasses\\"`,
  ])
    await expect.poll(() => second.output.stderr).toContain(refused);
  expect(await second.kill("SIGTERM")).toBe(0);
});
