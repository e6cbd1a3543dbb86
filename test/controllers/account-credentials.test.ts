import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";
import { type KindlingRun, kindling, runKindling } from "../support/programs/run-kindling.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const folder = temporaryFolder();
const kubeconfig = join(folder, "controller-manager.kubeconfig");
const account = { namespace: "kube-system", name: "statefulset-controller" };
const role = { name: "system:controller:statefulset-controller" };
const flag = "--use-service-account-credentials";
let server: TestServer;
let client: Client;
let manager: KindlingRun | undefined;

beforeAll(async () => {
  server = await startTestServer({ tokens: "manager-token,system:kube-controller-manager,1\n" });
  client = await connectCluster({ kubeconfig: server.kubeconfig });
  const config = parse(await readFile(server.kubeconfig, "utf8"));
  config.users[0].user = { token: "manager-token" };
  await writeFile(kubeconfig, stringify(config));
});
afterAll(async () => {
  manager?.child.kill("SIGKILL");
  await manager?.exit;
  client?.close();
  await server?.close();
});

async function createSet(name: string): Promise<void> {
  await client.create("statefulsets", makeStatefulSet(name, { replicas: 1 }));
}

const podOf = (set: string) =>
  client.get("pods", { namespace: "default", name: `${set}-0` }).catch(() => undefined);
const failures = async (set: string) =>
  (await client.list("events", { namespace: "default" })).items
    .filter(({ reason, involvedObject }) => reason === "FailedCreate" && involvedObject.name === set)
    .map(({ message }) => message)
    .join("\n");

async function start(...flags: string[]): Promise<KindlingRun> {
  const run = await runKindling([
    ...["controller-manager", "--kubeconfig", kubeconfig, "--metrics-listen", "127.0.0.1:0"],
    ...flags,
  ]);
  await expect.poll(() => run.output.stdout).toContain("controllers are running");
  return run;
}

test("the controller manager's own user does not have the permissions of its controllers", async () => {
  manager = await start();
  await createSet("alone");
  await expect
    .poll(() => manager?.output.stderr)
    .toMatch(/User \\?"system:kube-controller-manager\\?" cannot create resource/);
  expect(await podOf("alone")).toBeUndefined();
  manager.child.kill("SIGTERM");
  expect(await manager.exit).toBe(0);
});

test("with service account credentials each controller uses its own account, which is created for it", async () => {
  await expect(client.get("serviceaccounts", account)).rejects.toThrow("not found");
  manager = await start(flag);
  await expect.poll(() => podOf("alone")).toBeDefined();
  expect((await client.get("serviceaccounts", account)).metadata.name).toBe(account.name);
  const url = /metrics: (\S+)/.exec(manager.output.stdout)?.[1] ?? "";
  expect(await (await fetch(url)).text()).toMatch(
    /rest_client_requests_total\{[^}]*code="201"[^}]*method="POST"/,
  );
});

test("and has only the permissions of that account", async () => {
  const { rules = [] } = await client.get("clusterroles", role);
  const setRules = (next: unknown) =>
    client.patch("clusterroles", role, { patch: { kind: "merge", body: { rules: next } } });
  await setRules(rules.filter(({ resources }) => !resources?.includes("pods")));
  await createSet("forbidden");
  await expect
    .poll(() => failures("forbidden"))
    .toContain(`User "system:serviceaccount:kube-system:${account.name}" cannot create resource`);
  await setRules(rules);
  await expect.poll(() => podOf("forbidden")).toBeDefined();
});

test("a deleted account is recreated, with a new token", async () => {
  const { uid } = (await client.get("serviceaccounts", account)).metadata;
  await client.delete("serviceaccounts", account);
  await createSet("again");
  await expect.poll(() => podOf("again")).toBeDefined();
  expect((await client.get("serviceaccounts", account)).metadata.uid).not.toBe(uid);
  manager?.child.kill("SIGTERM");
  expect(await manager?.exit).toBe(0);
});

test("a dry run makes no accounts: both together are wrong usage", async () => {
  expect(await kindling("controller-manager", "--kubeconfig", kubeconfig, flag, "--dry-run")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("omit one of them"),
  });
});
