import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import { issueClientCertificate, loadOrCreatePki } from "../../../src/apiserver/auth/pki/pki.ts";
import { aliceToken, useSecureServer, withToken } from "../../support/servers/secure-server.ts";

type TokenRequest = KubeObject & { status: { token: string; expirationTimestamp: string } };
type TokenReview = KubeObject & {
  status: { authenticated?: boolean; user?: { username?: string }; error?: string };
};
type SelfReview = KubeObject & { status: { userInfo: { username: string; groups: string[] } } };

const { server, secrets, as, connect, expectSilence } = useSecureServer();
const accounts = "/api/v1/namespaces/default/serviceaccounts";

async function newToken(account: string, spec: object = {}): Promise<string> {
  await server().call("POST", accounts, { body: { metadata: { name: account } } });
  const { status } = await server().json<TokenRequest>("POST", `${accounts}/${account}/token`, { spec });
  secrets.add(status.token);
  return status.token;
}

async function whoIs(token: string): Promise<SelfReview["status"]["userInfo"]> {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const response = await server().call("POST", path, { ...withToken(token), body: {} });
  expect(response.status, response.text).toBe(201);
  return response.json<SelfReview>().status.userInfo;
}

describe("without a credential", () => {
  test.each([
    ["/livez", 200],
    ["/livez/ping", 403],
    ["/readyz", 200],
    ["/healthz", 200],
    ["/version", 200],
    ["/api", 403],
    ["/apis", 403],
    ["/api/v1/namespaces/default/pods", 403],
    ["/api/v1/namespaces/default/secrets/x", 403],
    ["/openapi/v2", 403],
    ["/openapi/v3", 403],
    ["/metrics", 403],
    ["/openid/v1/jwks", 403],
    ["/.well-known/openid-configuration", 403],
    ["/nothing", 403],
    ["/livez/%2e%2e/metrics", 403],
  ])("%s is %i", async (path, status) => {
    expect((await server().call("GET", path, { anonymous: true })).status).toBe(status);
  });

  test("writes are rejected, also for readable paths", async () => {
    for (const path of [
      "/livez",
      "/version",
      "/api/v1/namespaces",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    ]) {
      expect((await server().call("POST", path, { anonymous: true, body: {} })).status, path).toBe(403);
    }
  });

  test("a stream into a pod is rejected", async () => {
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const response = await server().call("GET", "/api/v1/namespaces/default/pods/x/exec", {
      anonymous: true,
      headers,
    });
    expect(response.status).toBe(403);
  });
});

describe("tokens", () => {
  test("of the token file authenticate a user with groups", async () => {
    expect(await whoIs(aliceToken)).toMatchObject({
      username: "alice",
      groups: ["devs", "testers", "system:authenticated"],
    });
  });

  test("of a service account", async () => {
    expect(await whoIs(await newToken("speaker"))).toMatchObject({
      username: "system:serviceaccount:default:speaker",
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    });
  });

  test.each([
    ["made up", async () => "made-up"],
    ["with another signature", async () => (await newToken("forger")).replace(/.{10}$/, "AAAAAAAAAA")],
    [
      "with other claims",
      async () => {
        const [header, claims = "", signature] = (await newToken("forger")).split(".");
        const changed = Buffer.from(claims, "base64url").toString().replaceAll("forger", "default");
        return [header, Buffer.from(changed).toString("base64url"), signature].join(".");
      },
    ],
    [
      "without a signature",
      async () => {
        const [, claims] = (await newToken("forger")).split(".");
        return `${Buffer.from('{"alg":"none"}').toString("base64url")}.${claims}.`;
      },
    ],
    ["for another audience", () => newToken("elsewhere", { audiences: ["vault"] })],
    [
      "of an account that is gone",
      async () => {
        const token = await newToken("gone");
        await server().json("DELETE", `${accounts}/gone`);
        return token;
      },
    ],
    [
      "of an account that came back as another",
      async () => {
        const token = await newToken("reborn");
        await server().json("DELETE", `${accounts}/reborn`);
        await server().json("POST", accounts, { metadata: { name: "reborn" } });
        return token;
      },
    ],
    [
      "bound to a pod that is gone",
      async () => {
        const pods = "/api/v1/namespaces/default/pods";
        await newToken("bound");
        await server().json("POST", pods, {
          metadata: { name: "holder" },
          spec: { serviceAccountName: "bound", containers: [{ name: "c", image: "i" }] },
        });
        const token = await newToken("bound", {
          boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "holder" },
        });
        expect(await whoIs(token)).toMatchObject({ username: "system:serviceaccount:default:bound" });
        await server().json("DELETE", `${pods}/holder`);
        return token;
      },
    ],
  ])("%s are refused", async (_, make) => {
    const response = await server().call("GET", "/livez", withToken(await make()));
    expect(response.status).toBe(401);
    expect(response.json()).toMatchObject({
      kind: "Status",
      reason: "Unauthorized",
      message: "Unauthorized",
    });
  });

  test("are reviewed for other callers and their audience", async () => {
    const review = (token: string, audiences?: string[]) =>
      server().json<TokenReview>("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
        spec: { token, ...(audiences && { audiences }) },
      });
    const vault = await newToken("reviewed", { audiences: ["vault"] });
    expect((await review(vault, ["vault"])).status).toMatchObject({
      authenticated: true,
      user: { username: "system:serviceaccount:default:reviewed" },
    });
    expect((await review(vault)).status.authenticated).toBeFalsy();
    expect((await review("made-up")).status.authenticated).toBeFalsy();
  });

  test("expire when requested, no sooner than ten minutes and never unlimited", async () => {
    for (const [expirationSeconds, code] of [
      [1, 422],
      [2 ** 33, 422],
      [600, 201],
    ] as const) {
      const response = await server().call("POST", `${accounts}/default/token`, {
        body: { spec: { expirationSeconds } },
      });
      expect(response.status, String(expirationSeconds)).toBe(code);
    }
  });
});

describe("certificates", () => {
  test("of the cluster's CA authenticate the user", async () => {
    const response = await as("jane", "devs").call(
      "POST",
      "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      { body: {} },
    );
    expect(response.json<SelfReview>().status.userInfo).toMatchObject({
      username: "jane",
      groups: ["devs", "system:authenticated"],
    });
  });

  test("of another CA are rejected", async () => {
    const directory = await mkdtemp(join(tmpdir(), "kindling-other-"));
    const other = await loadOrCreatePki({ directory, now: Date.now() });
    const pair = issueClientCertificate(other, {
      commonName: "kubernetes-admin",
      organizations: ["system:masters"],
      now: Date.now(),
    });
    const impostor = connect(pair);
    expect((await impostor.call("GET", "/api")).status).toBe(401);
    expect((await impostor.call("GET", "/livez")).status).toBe(401);
    await rm(directory, { recursive: true });
  });
});

expectSilence();
