import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signCertificate } from "../../../src/lib/x509/certificate.ts";
import { selfIssuer } from "../../../src/lib/x509/issuer.ts";
import { type KubeletServerFixture, startKubeletFixture } from "../../support/node/kubelet-server.ts";
import { type ApiClient, createClient } from "../../support/servers/api-server.ts";

let kubelet: KubeletServerFixture;
beforeAll(async () => {
  kubelet = await startKubeletFixture();
});
afterAll(() => kubelet?.close());

const status = async (client: ApiClient, path: string, options = {}) =>
  (await client.call("GET", path, options)).status;
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function bind(name: string, subject: object, rules: object[]): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  await kubelet.api.json("POST", `/apis/${group}/v1/clusterroles`, { metadata: { name }, rules });
  await kubelet.api.json("POST", `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: group, kind: "ClusterRole", name },
    subjects: [subject],
  });
}
const nodes = (...resources: string[]) => [{ apiGroups: [""], resources, verbs: ["get"] }];
const user = (name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "User", name });

describe("authentication", () => {
  test("anonymous requests are rejected", async () => {
    const answer = await kubelet.as().call("GET", "/healthz");
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 401, text: "Unauthorized" });
    expect(await status(kubelet.as(), "/pods", bearer("nonsense"))).toBe(401);
    expect(await status(kubelet.as(), "/pods", { headers: { authorization: "Basic eDp5" } })).toBe(401);
  });

  test("the API server's client is authenticated, without system:masters", async () => {
    const { cert, key } = kubelet.pki.kubeletClient;
    const server = createClient(kubelet.url, { ca: "", rejectUnauthorized: false, cert, key });
    for (const path of ["/healthz", "/pods", "/metrics", "/configz"])
      expect(await status(server, path)).toBe(200);
    server.disconnect();
    const masked = createClient(kubelet.api.url, { ca: kubelet.pki.authority.cert, cert, key });
    expect(await status(masked, "/api/v1/secrets")).toBe(403);
    masked.disconnect();
  });

  test("rejects a certificate of another CA", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const subject = { commonName: "kubernetes-admin", organizations: ["system:masters"] };
    const cert = signCertificate(
      {
        subject,
        publicKey: createPublicKey(privateKey),
        purpose: "client",
        notBefore: Date.now() - 1_000,
        notAfter: Date.now() + 100_000,
      },
      selfIssuer({ commonName: "kubernetes" }, privateKey),
    );
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const forger = createClient(kubelet.url, { ca: "", rejectUnauthorized: false, cert, key });
    expect(await status(forger, "/healthz")).toBe(401);
    forger.disconnect();
  });

  test("a service account is authenticated by its token, with one cached TokenReview", async () => {
    await bind(
      "monitor",
      { kind: "ServiceAccount", namespace: "default", name: "monitor" },
      nodes("nodes/metrics"),
    );
    await kubelet.api.json("POST", "/api/v1/namespaces/default/serviceaccounts", {
      metadata: { name: "monitor" },
    });
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const path = "/api/v1/namespaces/default/serviceaccounts/monitor/token";
    const { status: issued } = await kubelet.api.json<{ status: { token: string } }>("POST", path, request);
    kubelet.asked.length = 0;
    const client = kubelet.as();
    expect(await status(client, "/metrics", bearer(issued.token))).toBe(200);
    expect(await status(client, "/metrics", bearer(issued.token))).toBe(200);
    expect(kubelet.asked.filter((asked) => asked.includes("tokenreviews"))).toHaveLength(1);
    expect(await status(client, "/pods", bearer(issued.token))).toBe(403);
    expect(kubelet.log.join("")).not.toContain(issued.token);
  });
});

describe("authorization", () => {
  test.each([
    ["pods", "nodes/pods", ["/pods", "/runningpods/"]],
    ["health", "nodes/healthz", ["/healthz", "/healthz/ping"]],
    ["config", "nodes/configz", ["/configz"]],
    ["metrics", "nodes/metrics", ["/metrics", "/metrics/probes"]],
  ])("the right to see %s is enough for that and nothing else", async (name, resource, paths) => {
    await bind(`see-${name}`, user(`see-${name}`), nodes(resource));
    const client = kubelet.as(`see-${name}`);
    const all = [
      "/pods",
      "/runningpods/",
      "/healthz",
      "/healthz/ping",
      "/configz",
      "/metrics",
      "/metrics/probes",
    ];
    const open: string[] = [];
    for (const path of [...all, "/containerLogs/a/b/c", "/run/a/b/c", "/nothing"])
      if ((await status(client, path)) !== 403) open.push(path);
    expect(open).toEqual(paths);
  });

  test("nodes/proxy covers all paths without a specific permission", async () => {
    await bind("wide", user("wide"), nodes("nodes/proxy"));
    const client = kubelet.as("wide");
    expect(await status(client, "/pods")).toBe(200);
    expect(await status(client, "/nothing")).toBe(404);
    expect(await status(client, "/metrics")).toBe(403);
    const post = await client.call("POST", "/run/a/b/c");
    expect({ status: post.status, text: post.text }).toEqual({
      status: 403,
      text: "Forbidden (user=wide, verb=create, resource=nodes, subresource(s)=[proxy])\n",
    });
  });

  test("caches a decision", async () => {
    await bind("keeper", user("keeper"), nodes("nodes/healthz"));
    const client = kubelet.as("keeper");
    await status(client, "/healthz");
    kubelet.asked.length = 0;
    for (let i = 0; i < 5; i++) expect(await status(client, "/healthz")).toBe(200);
    expect(kubelet.asked).toEqual([]);
  });
});

test("no caller is authenticated without an API server", async () => {
  const alone = await startKubeletFixture();
  const client = alone.as("system:admin", "system:masters");
  expect(await status(client, "/healthz")).toBe(200);
  await alone.api.close();
  expect(await status(client, "/healthz")).toBe(200);
  const refused = await client.call("GET", "/metrics");
  expect({ status: refused.status, text: refused.text }).toEqual({
    status: 500,
    text: "Authorization error (user=system:admin, verb=get, resource=nodes, subresource=metrics)",
  });
  expect(await status(alone.as(), "/healthz", bearer("a-token"))).toBe(401);
  await alone.close();
});

test("anonymous requests and AlwaysAllow work if they are configured", async () => {
  const open = await startKubeletFixture({
    authentication: { anonymous: true, webhook: false },
    authorization: { mode: "AlwaysAllow" },
  });
  expect(await status(open.as(), "/healthz")).toBe(200);
  expect(await status(open.as(), "/healthz", bearer("a-token"))).toBe(401);
  expect(open.asked).toEqual([]);
  await open.close();
});

test("closes connections with incomplete or too long headers", async () => {
  const port = Number(new URL(kubelet.url).port);
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(100_000)}\r\n\r\n`);
  await closed;
  expect(answer).toMatch(/^HTTP\/1.1 431/);
});
