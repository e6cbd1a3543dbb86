import { join } from "node:path";
import { expect, test } from "vitest";
import { issueClientCertificate, loadOrCreatePki } from "../../src/apiserver/auth/pki/pki.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import {
  bearer,
  otherToken,
  scraperToken,
  useGuardedMonitor,
  viewerToken,
} from "../support/monitor/guarded-monitor.ts";

const folder = temporaryFolder();
const monitor = useGuardedMonitor();
const { ask, certificateOf, startAnother } = monitor;

test("serves only HTTPS on addresses other than loopback", () => {
  expect(monitor.url).toMatch(/^https:\/\/0\.0\.0\.0:\d+$/);
});

test.each(["/api/feed", "/api/report", "/metrics", "/assets/x.js", "/nothing"])(
  "%s is for those whom the cluster knows and allows",
  async (path) => {
    expect(await ask(path)).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
    expect(await ask(path, bearer("no such token"))).toMatchObject({ status: 401 });
    expect(await ask(path, bearer(otherToken))).toMatchObject({ status: 403 });
  },
);

test("a token with the permission sees the page; metrics have their own permission", async () => {
  expect(await ask("/api/report", bearer(viewerToken))).toMatchObject({ status: 200, text: '{"slos":[]}' });
  expect(await ask("/metrics", bearer(viewerToken))).toMatchObject({ status: 403 });
  expect(await ask("/metrics", bearer(scraperToken))).toMatchObject({ status: 200, text: "metrics" });
  expect(await ask("/api/report", bearer(scraperToken))).toMatchObject({ status: 403 });
});

test("a certificate of the cluster's CA authenticates; one of another CA does not", async () => {
  expect(await ask("/api/report", { pair: certificateOf("viewer") })).toMatchObject({ status: 200 });
  expect(await ask("/api/report", { pair: certificateOf("other") })).toMatchObject({ status: 403 });
  const now = Date.now();
  const strangers = await loadOrCreatePki({ directory: join(folder, "pki"), now });
  const pair = issueClientCertificate(strangers, { commonName: "viewer", now });
  expect(await ask("/api/report", { pair })).toMatchObject({ status: 401 });
});

test("health needs no token and reveals nothing", async () => {
  expect(await ask("/healthz")).toMatchObject({ status: 200, text: "ok\n" });
});

test("while the cluster is unreachable requests with a token fail with 503 and health still responds", async () => {
  const { url: base, close } = await startAnother({ request: () => Promise.reject(new Error("away")) });
  expect(await ask(`${base}/api/report`, bearer(viewerToken))).toMatchObject({ status: 503 });
  expect(await ask(`${base}/healthz`)).toMatchObject({ status: 200 });
  await close();
});

test("no token is in the log", () => {
  for (const token of [viewerToken, otherToken, scraperToken]) expect(monitor.log()).not.toContain(token);
});
