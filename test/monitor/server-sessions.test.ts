import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import {
  bearer,
  cookieOf,
  otherToken,
  reachable,
  scraperToken,
  useGuardedMonitor,
  viewerToken,
} from "../support/monitor/guarded-monitor.ts";

const monitor = useGuardedMonitor();
const { ask, certificateOf, clock, grant, logIn, open, startAnother } = monitor;

test("redirects a browser to a form, whose token opens a session until logout", async () => {
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

test("a session expires", async () => {
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
])("a form of another origin neither logs in nor out: %j", async (headers) => {
  expect(await logIn(viewerToken, headers)).toMatchObject({ status: 403 });
  const cookie = cookieOf(await logIn(viewerToken));
  expect(await ask("/logout", { method: "POST", headers: { ...headers, cookie } })).toMatchObject({
    status: 403,
  });
  expect(await ask("/api/report", { headers: { cookie } })).toMatchObject({ status: 200 });
});

test("a form of the page's own origin logs in", async () => {
  const { host } = new URL(reachable(monitor.url));
  expect(
    await logIn(viewerToken, { origin: `https://${host}`, "sec-fetch-site": "same-origin" }),
  ).toMatchObject({ status: 303 });
});

test("rejects a form above the size limit", async () => {
  await expect(logIn("x".repeat(1_000_000)).then(({ status }) => status)).resolves.toBe(413);
});

test("a feed ends when its user is no longer authorized", async () => {
  await grant("passing", "/kindling/dashboard");
  const pair = certificateOf("passing");
  const response = await open("/api/feed", { pair });
  response.on("error", () => {});
  response.resume();
  await monitor.api.json("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/passing");
  await expect
    .poll(async () => {
      await clock.advance(60_000);
      return response.closed;
    })
    .toBe(true);
});

/** A service account with the permission to view, and its token. */
async function createViewer(name: string): Promise<string> {
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await monitor.api.json("POST", accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
  await grant(`system:serviceaccount:default:${name}`, "/kindling/dashboard");
  const review = await monitor.api.json<{ status: { token: string } }>("POST", `${accounts}/${name}/token`, {
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

test("a revoked token ends its session and its streams within two and a half minutes", async () => {
  const token = await createViewer("revoked");
  const cookie = cookieOf(await logIn(token));
  const bySession = await open("/api/feed", { headers: { cookie } });
  const byToken = await open("/api/feed", bearer(token));
  await monitor.api.json("DELETE", "/api/v1/namespaces/default/serviceaccounts/revoked");
  await expectOver(150, bySession, byToken);
  expect(await ask("/api/report", { headers: { cookie } })).toMatchObject({ status: 401 });
  expect(await ask("/api/feed", bearer(token))).toMatchObject({ status: 401 });
  expect(await logIn(token)).toMatchObject({ status: 401 });
});

test("a token without permission ends its streams within five and a half minutes, and its session gets no data", async () => {
  const token = await createViewer("demoted");
  const cookie = cookieOf(await logIn(token));
  const response = await open("/api/feed", { headers: { cookie } });
  const binding = "system:serviceaccount:default:demoted";
  await monitor.api.json("DELETE", `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${binding}`);
  await expectOver(330, response);
  expect(await ask("/api/report", { headers: { cookie } })).toMatchObject({ status: 403 });
});

test("logging out ends the session's streams, also in other tabs, within 15 seconds", async () => {
  const cookie = cookieOf(await logIn(viewerToken));
  const response = await open("/api/feed", { headers: { cookie } });
  await ask("/logout", { method: "POST", headers: { cookie } });
  await expectOver(16, response);
});

test("sessions continue for a limited time while the cluster is unreachable", async () => {
  let isAway = false;
  const { request } = monitor.client;
  const { url: base, close } = await startAnother({
    request: (...args) => (isAway ? Promise.reject(new Error("away")) : request(...args)) as never,
  });
  const stream = await open(`${base}/api/feed`, bearer(viewerToken));
  isAway = true;
  await clock.advance(14 * 60_000);
  expect(stream.closed).toBe(false);
  // The last successful review is valid for two minutes.
  await expectOver(4 * 60, stream);
  await close();
});

test("no token is in the log", () => {
  for (const token of [viewerToken, otherToken, scraperToken]) expect(monitor.log()).not.toContain(token);
});
