import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request as send } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueClientCertificate, loadOrCreatePki, type Pki } from "../../src/apiserver/auth/pki/pki.ts";
import type { Client } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import { createLogger, silentLogger } from "../../src/lib/logger.ts";
import { createManualClock } from "../../src/lib/manual-clock.ts";
import type { MonitorParts } from "../../src/monitor/server/answer-request.ts";
import { type MonitorServer, startMonitorServer } from "../../src/monitor/server/monitor-server.ts";
import { startTestServer, type TestServer } from "../support/api-server.ts";

const viewerToken = "viewers-token-is-a-secret";
const otherToken = "others-token-is-a-secret";
const scraperToken = "scrapers-token-is-a-secret";

let dataDir: string;
let api: TestServer;
let pki: Pki;
let client: Client;
let server: MonitorServer;
const log: string[] = [];
const clock = createManualClock(Date.now());

const parts: MonitorParts = {
  async *follow(signal) {
    yield "{}";
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
  scrape: async () => ({ contentType: "text/plain", body: "metrics" }),
  report: () => ({ slos: [] }),
};

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-monitor-"));
  const tokenFile = join(dataDir, "tokens.csv");
  await writeFile(tokenFile, `${viewerToken},viewer,1\n${otherToken},other,2\n${scraperToken},scraper,3\n`);
  api = await startTestServer({ dataDir, tokenFile });
  pki = await loadOrCreatePki({ directory: join(dataDir, "pki"), now: Date.now() });
  client = await connectCluster({ kubeconfig: api.kubeconfig });
  await grant("viewer", "/kindling/dashboard");
  await grant("scraper", "/metrics");
  server = await startMonitorServer({
    listen: { host: "0.0.0.0", port: 0 },
    parts,
    client,
    clientCa: pki.authority.cert,
    clock,
    logger: createLogger({
      format: "json",
      level: "trace",
      destination: { write: (line) => log.push(line) },
    }),
  });
});
afterAll(async () => {
  await server?.close();
  client?.close();
  await api?.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function grant(user: string, path: string): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  const base = { apiVersion: `${group}/v1`, metadata: { name: user } };
  await api.json("POST", `/apis/${group}/v1/clusterroles`, {
    ...base,
    kind: "ClusterRole",
    rules: [{ nonResourceURLs: [path], verbs: ["get"] }],
  });
  await api.json("POST", `/apis/${group}/v1/clusterrolebindings`, {
    ...base,
    kind: "ClusterRoleBinding",
    roleRef: { apiGroup: group, kind: "ClusterRole", name: user },
    subjects: [{ apiGroup: group, kind: "User", name: user }],
  });
}

interface AskOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly pair?: { cert: string; key: string };
}

async function open(
  path: string,
  { method = "GET", headers = {}, body, pair }: AskOptions = {},
): Promise<IncomingMessage> {
  const url = new URL(path, server.url.replace("0.0.0.0", "127.0.0.1"));
  const request = send(url, { method, headers, agent: false, rejectUnauthorized: false, ...pair });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

async function ask(path: string, options: AskOptions = {}) {
  const response = await open(path, options);
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const form = { "content-type": "application/x-www-form-urlencoded" };
const logIn = (token: string, headers: Record<string, string> = {}) =>
  ask("/login", {
    method: "POST",
    headers: { ...form, ...headers },
    body: `token=${encodeURIComponent(token)}`,
  });
const cookieOf = ({ headers }: { headers: IncomingMessage["headers"] }) =>
  headers["set-cookie"]?.[0]?.split(";")[0] ?? "";

test("elsewhere than on loopback it speaks HTTPS only", () => {
  expect(server.url).toMatch(/^https:\/\/0\.0\.0\.0:\d+$/);
});

test.each(["/api/feed", "/api/report", "/metrics", "/assets/x.js", "/nothing"])(
  "%s is for those whom the cluster knows and allows",
  async (path) => {
    expect(await ask(path)).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
    expect(await ask(path, bearer("no such token"))).toMatchObject({ status: 401 });
    expect(await ask(path, bearer(otherToken))).toMatchObject({ status: 403 });
  },
);

test("with a token that may see it, it is shown; metrics have a right of their own", async () => {
  expect(await ask("/api/report", bearer(viewerToken))).toMatchObject({ status: 200, text: '{"slos":[]}' });
  expect(await ask("/metrics", bearer(viewerToken))).toMatchObject({ status: 403 });
  expect(await ask("/metrics", bearer(scraperToken))).toMatchObject({ status: 200, text: "metrics" });
  expect(await ask("/api/report", bearer(scraperToken))).toMatchObject({ status: 403 });
});

test("a certificate of the cluster's CA tells who it is; one that signs itself tells nothing", async () => {
  const now = Date.now();
  const pair = issueClientCertificate(pki, { commonName: "viewer", now });
  expect(await ask("/api/report", { pair })).toMatchObject({ status: 200 });
  const other = issueClientCertificate(pki, { commonName: "other", now });
  expect(await ask("/api/report", { pair: other })).toMatchObject({ status: 403 });
});

test("health needs no token, and tells nothing", async () => {
  expect(await ask("/healthz")).toMatchObject({ status: 200, text: "ok\n" });
});

test("a browser is sent to a form; the form's token opens a session, which ends when it is closed", async () => {
  expect(await ask("/")).toMatchObject({ status: 303, headers: { location: "/login" } });
  const page = await ask("/login");
  expect(page.status).toBe(200);
  expect(page.headers["content-security-policy"]).toMatch(
    /^default-src 'none'; .*form-action 'self'; frame-ancestors 'none'$/,
  );
  const opened = await logIn(viewerToken);
  expect(opened).toMatchObject({ status: 303, headers: { location: "/" } });
  expect(opened.headers["set-cookie"]).toEqual([
    expect.stringMatching(/; Path=\/; HttpOnly; Secure; SameSite=Strict$/),
  ]);
  const headers = { cookie: cookieOf(opened) };
  expect(headers.cookie).not.toContain(viewerToken);
  expect(await ask("/api/report", { headers })).toMatchObject({ status: 200 });
  expect(await ask("/metrics", { headers })).toMatchObject({ status: 403 });
  expect(await ask("/logout", { headers, method: "POST" })).toMatchObject({ status: 303 });
  expect(await ask("/api/report", { headers })).toMatchObject({ status: 401 });
});

test("a session ends by itself", async () => {
  const headers = { cookie: cookieOf(await logIn(viewerToken)) };
  expect(await ask("/api/report", { headers })).toMatchObject({ status: 200 });
  await clock.advance(8 * 3_600_000);
  expect(await ask("/api/report", { headers })).toMatchObject({ status: 401 });
});

test.each([
  ["nobodys-token", 401],
  [otherToken, 403],
  ["", 400],
  ["two words", 400],
])("a login with %j is refused with %i and no cookie", async (token, status) => {
  const answer = await logIn(token);
  expect(answer).toMatchObject({ status });
  expect(answer.headers["set-cookie"]).toBeUndefined();
  expect(answer.text).not.toContain(token || "token=");
});

test.each<Record<string, string>>([
  { origin: "https://evil.example.com" },
  { origin: "null" },
  { "sec-fetch-site": "cross-site" },
])("another page's form logs nobody in or out: %j", async (headers) => {
  expect(await logIn(viewerToken, headers)).toMatchObject({ status: 403 });
  const cookie = cookieOf(await logIn(viewerToken));
  expect(await ask("/logout", { method: "POST", headers: { ...headers, cookie } })).toMatchObject({
    status: 403,
  });
  expect(await ask("/api/report", { headers: { cookie } })).toMatchObject({ status: 200 });
});

test("its own form does", async () => {
  const { host } = new URL(server.url.replace("0.0.0.0", "127.0.0.1"));
  expect(
    await logIn(viewerToken, { origin: `https://${host}`, "sec-fetch-site": "same-origin" }),
  ).toMatchObject({ status: 303 });
});

test("a form that is too long is not read", async () => {
  await expect(logIn("x".repeat(1_000_000)).then(({ status }) => status)).resolves.toBe(413);
});

test("a feed ends when whoever looks may look no more", async () => {
  await grant("passing", "/kindling/dashboard");
  const pair = issueClientCertificate(pki, { commonName: "passing", now: Date.now() });
  const response = await open("/api/feed", { pair });
  response.on("error", () => {});
  response.resume();
  await api.json("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/passing");
  await expect
    .poll(async () => {
      await clock.advance(60_000);
      return response.closed;
    })
    .toBe(true);
});

/** A service account that may look, and a token of it. */
async function createViewer(name: string): Promise<string> {
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await api.json("POST", accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
  await grant(`system:serviceaccount:default:${name}`, "/kindling/dashboard");
  const review = await api.json<{ status: { token: string } }>("POST", `${accounts}/${name}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {},
  });
  return review.status.token;
}

/** After this long by the server's clock each of them is over. */
async function expectOver(seconds: number, ...streams: IncomingMessage[]): Promise<void> {
  for (const stream of streams) {
    expect(stream.statusCode).toBe(200);
    stream.on("error", () => {});
    stream.resume();
  }
  await clock.advance(seconds * 1_000);
  await expect.poll(() => streams.map(({ closed }) => closed)).toEqual(streams.map(() => true));
}

test("a token that is revoked ends its session, and what streams by it, within two minutes and a half", async () => {
  const token = await createViewer("revoked");
  const cookie = cookieOf(await logIn(token));
  const bySession = await open("/api/feed", { headers: { cookie } });
  const byToken = await open("/api/feed", bearer(token));
  await api.json("DELETE", "/api/v1/namespaces/default/serviceaccounts/revoked");
  await expectOver(150, bySession, byToken);
  expect(await ask("/api/report", { headers: { cookie } })).toMatchObject({ status: 401 });
  expect(await ask("/api/feed", bearer(token))).toMatchObject({ status: 401 });
  expect(await logIn(token)).toMatchObject({ status: 401 });
});

test("a token that may look no more ends what streams by it within five minutes and a half, and its session sees nothing", async () => {
  const token = await createViewer("demoted");
  const cookie = cookieOf(await logIn(token));
  const response = await open("/api/feed", { headers: { cookie } });
  const binding = "system:serviceaccount:default:demoted";
  await api.json("DELETE", `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${binding}`);
  await expectOver(330, response);
  expect(await ask("/api/report", { headers: { cookie } })).toMatchObject({ status: 403 });
});

test("logging out ends what streams by the session, in other tabs too, within a quarter of a minute", async () => {
  const cookie = cookieOf(await logIn(viewerToken));
  const response = await open("/api/feed", { headers: { cookie } });
  await ask("/logout", { method: "POST", headers: { cookie } });
  await expectOver(16, response);
});

test("while the cluster cannot be asked who looks goes on looking, but not for ever", async () => {
  let isAway = false;
  const { request } = client;
  const asked = await startMonitorServer({
    listen: { host: "0.0.0.0", port: 0 },
    parts,
    client: {
      request: (...args) => (isAway ? Promise.reject(new Error("away")) : request(...args)) as never,
    },
    clock,
    logger: silentLogger,
  });
  const base = asked.url.replace("0.0.0.0", "127.0.0.1");
  const stream = await open(`${base}/api/feed`, bearer(viewerToken));
  isAway = true;
  await clock.advance(14 * 60_000);
  expect(stream.closed).toBe(false);
  // The last good answer held for two minutes.
  await expectOver(4 * 60, stream);
  await asked.close();
});

test("while the cluster cannot be asked nobody gets in, and nobody is told a lie", async () => {
  const away = await startMonitorServer({
    listen: { host: "0.0.0.0", port: 0 },
    parts,
    client: { request: () => Promise.reject(new Error("away")) },
    clock,
    logger: silentLogger,
  });
  const base = away.url.replace("0.0.0.0", "127.0.0.1");
  expect(await ask(`${base}/api/report`, bearer(viewerToken))).toMatchObject({ status: 503 });
  expect(await ask(`${base}/healthz`)).toMatchObject({ status: 200 });
  await away.close();
});

test("no token is in the log", () => {
  for (const token of [viewerToken, otherToken, scraperToken]) expect(log.join("")).not.toContain(token);
});
