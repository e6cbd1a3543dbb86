import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createSelfSigned } from "../../src/lib/x509/certificate.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import {
  createClient,
  readCredentials,
  startTestServer,
  type TestServer,
} from "../support/servers/api-server.ts";
import { withToken } from "../support/servers/secure-server.ts";

const folder = temporaryFolder();
let server: TestServer;
const tokens: Record<string, string> = {};
const started: KindlingRun[] = [];

beforeAll(async () => {
  server = await startTestServer();
  for (const name of ["scraper", "other"]) {
    const path = "/api/v1/namespaces/default/serviceaccounts";
    await server.json("POST", path, { metadata: { name } });
    const { status } = await server.json<{ status: { token: string } }>("POST", `${path}/${name}/token`, {});
    tokens[name] = status.token;
  }
  const rbac = "rbac.authorization.k8s.io";
  await server.json("POST", `/apis/${rbac}/v1/clusterroles`, {
    metadata: { name: "scrape" },
    rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }],
  });
  await server.json("POST", `/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: "scrape" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "scrape" },
    subjects: [{ kind: "ServiceAccount", namespace: "default", name: "scraper" }],
  });
});
afterEach(async () => {
  for (const { child, exit } of started.splice(0)) {
    child.kill("SIGTERM");
    await exit;
  }
});
afterAll(() => server?.close());

/** Starts it and returns a client of its endpoint with the given credentials. */
async function serve(command: string, flags: readonly string[], pair: { cert?: Buffer; key?: Buffer } = {}) {
  const run = await runKindling([
    ...[command, "--kubeconfig", server.kubeconfig, "--metrics-listen", "0.0.0.0:0"],
    ...flags,
  ]);
  started.push(run);
  const port = () => /^metrics: https:\/\/0\.0\.0\.0:(\d+)\/metrics$/m.exec(run.output.stdout)?.[1];
  await expect.poll(port).toBeDefined();
  const url = `https://127.0.0.1:${port()}`;
  return { url, run, client: createClient(url, { ca: "", rejectUnauthorized: false, ...pair }) };
}

const token = (name: string) => withToken(tokens[name] ?? "");

test.each(["controller-manager", "scheduler"])(
  "%s: elsewhere than on loopback it is HTTPS, for those who may get /metrics",
  async (command) => {
    const { client, url } = await serve(command, []);
    expect(await client.call("GET", "/metrics", token("scraper"))).toMatchObject({
      status: 200,
      text: expect.stringContaining("# TYPE rest_client_requests_total counter"),
    });
    expect(await client.call("GET", "/metrics", { anonymous: true })).toMatchObject({
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
    expect(await client.call("GET", "/metrics", withToken("nobodys"))).toMatchObject({ status: 401 });
    expect(await client.call("GET", "/metrics", token("other"))).toMatchObject({
      status: 403,
      text: '"system:serviceaccount:default:other" may not get /metrics\n',
    });
    expect(await client.call("GET", "/healthz", { anonymous: true })).toMatchObject({ text: "ok\n" });
    expect(await client.call("GET", "/nothing", { anonymous: true })).toMatchObject({ status: 401 });
    expect(await client.call("GET", "/nothing", token("scraper"))).toMatchObject({ status: 404 });
    expect(await client.call("POST", "/metrics", token("scraper"))).toMatchObject({ status: 405 });
    await expect(fetch(`${url.replace("https", "http")}/metrics`)).rejects.toThrow("fetch failed");
    client.disconnect();
  },
);

test("with a configured certificate and client certificates", async () => {
  const { cert, key } = createSelfSigned({
    subject: { commonName: "metrics" },
    hosts: ["127.0.0.1"],
    now: Date.now(),
  });
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const ca = join(server.dataDir, "pki/ca.crt");
  const admin = await readCredentials(server.kubeconfig);
  const flags = ["--tls-cert-file", certFile, "--tls-private-key-file", keyFile, "--client-ca-file", ca];
  const { url } = await serve("scheduler", flags);
  // It is trusted by that very certificate.
  const client = createClient(url, { ca: cert, cert: admin.cert, key: admin.key });
  expect(await client.call("GET", "/metrics")).toMatchObject({ status: 200 });
  expect(await client.call("GET", "/metrics", { anonymous: true })).toMatchObject({ status: 401 });
  client.disconnect();

  const forged = createSelfSigned({
    subject: { commonName: "kubernetes-admin", organizations: ["system:masters"] },
    hosts: [],
    now: Date.now(),
  });
  const stranger = createClient(url, { ca: cert, ...forged });
  expect(await stranger.call("GET", "/metrics")).toMatchObject({ status: 401 });
  stranger.disconnect();
});

test("a client certificate of the CA that the cluster publishes is accepted", async () => {
  const ca = await readFile(join(server.dataDir, "pki/ca.crt"), "utf8");
  await server.json("POST", "/api/v1/namespaces/kube-system/configmaps", {
    metadata: { name: "extension-apiserver-authentication" },
    data: { "client-ca-file": ca },
  });
  const { cert, key } = await readCredentials(server.kubeconfig);
  const { client } = await serve("controller-manager", ["--dry-run"], { cert, key });
  expect(await client.call("GET", "/metrics")).toMatchObject({ status: 200 });
  client.disconnect();
});

test("rejects a file that is not a certificate with exit code 2", async () => {
  const file = join(folder, "no.pem");
  await writeFile(file, "no certificate");
  const flags = ["--metrics-listen", ":0", "--tls-cert-file", file, "--tls-private-key-file", file];
  const { output, exit } = await runKindling(["scheduler", "--kubeconfig", server.kubeconfig, ...flags]);
  expect(await exit).toBe(2);
  expect(output.stderr).toContain(
    "kindling: --tls-cert-file, --tls-private-key-file or --client-ca-file is invalid",
  );
});
