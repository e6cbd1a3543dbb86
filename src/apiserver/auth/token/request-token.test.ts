import { createPublicKey, type JsonWebKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { KubeObject, Pod } from "../../../api/meta/objects.ts";
import { generateKey } from "../../../lib/x509/certificate.ts";
import { signingKeyOf, verifyJwt } from "./jwt.ts";
import { requestToken, type TokenRequest, type TokenRequestDeps } from "./request-token.ts";
import { jwks, openidConfiguration } from "./service-account-tokens.ts";

const issuer = "https://kubernetes.default.svc.cluster.local";
const now = Date.parse("2026-03-01T00:00:00.123Z");
const key = signingKeyOf(generateKey());

function object(name: string, uid: string): KubeObject {
  return { apiVersion: "v1", kind: "X", metadata: { name, namespace: "ns", uid } };
}
const pod = (name: string, spec: object) => ({ ...object(name, `${name}-uid`), spec }) as Pod;

const pods: Record<string, Pod> = {
  p: pod("p", { serviceAccountName: "sa", nodeName: "n" }),
  lost: pod("lost", { serviceAccountName: "sa", nodeName: "gone" }),
  pending: pod("pending", { serviceAccountName: "sa" }),
  foreign: pod("foreign", { serviceAccountName: "other" }),
};

const deps: TokenRequestDeps = {
  issuer,
  apiAudiences: [issuer],
  key,
  objects: {
    serviceAccount: async (_, name) => (name === "sa" ? object("sa", "sa-uid") : undefined),
    pod: async (_, name) => pods[name],
    secret: async (_, name) => (name === "s" ? object("s", "s-uid") : undefined),
    node: async (name) => (name === "n" ? object("n", "n-uid") : undefined),
  },
  newId: () => "id-1",
  now: () => now,
};

const run = (request: Partial<TokenRequest>, name = "sa") =>
  requestToken({ namespace: "ns", name }, { spec: { audiences: [] }, ...request }, deps);

async function claims(spec: Partial<TokenRequest["spec"]>) {
  const { status } = await run({ spec: { audiences: [], ...spec } });
  const result = verifyJwt(status?.token ?? "", { issuer, keys: [key] });
  return result.kind === "verified" ? result.payload : undefined;
}

test("defaults to the API audience and one hour", async () => {
  const answer = await run({});
  expect(answer).toEqual({
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name: "sa", namespace: "ns", uid: "sa-uid", creationTimestamp: "2026-03-01T00:00:00Z" },
    spec: { audiences: [issuer], expirationSeconds: 3600 },
    status: { token: expect.any(String), expirationTimestamp: "2026-03-01T01:00:00Z" },
  });
  expect(await claims({})).toEqual({
    iss: issuer,
    sub: "system:serviceaccount:ns:sa",
    aud: [issuer],
    iat: Math.floor(now / 1000),
    nbf: Math.floor(now / 1000),
    exp: Math.floor(now / 1000) + 3600,
    jti: "id-1",
    "kubernetes.io": { namespace: "ns", serviceaccount: { name: "sa", uid: "sa-uid" } },
  });
});

describe("bindings", () => {
  const bound = (kind: string, name: string, apiVersion = "v1") => ({
    boundObjectRef: { kind, name, apiVersion },
  });
  test.each([
    ["Pod", "p", { pod: { name: "p", uid: "p-uid" }, node: { name: "n", uid: "n-uid" } }],
    ["Pod", "lost", { pod: { name: "lost", uid: "lost-uid" }, node: { name: "gone" } }],
    ["Pod", "pending", { pod: { name: "pending", uid: "pending-uid" } }],
    ["Secret", "s", { secret: { name: "s", uid: "s-uid" } }],
    ["Node", "n", { node: { name: "n", uid: "n-uid" } }],
  ])("%s %s", async (kind, name, expected) => {
    expect(await claims(bound(kind, name))).toMatchObject({ "kubernetes.io": expected });
  });

  test.each([
    [bound("Pod", "none"), 404, 'pods "none" not found'],
    [bound("Node", "none"), 404, 'nodes "none" not found'],
    [
      bound("Pod", "foreign"),
      400,
      'cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.',
    ],
    [bound("ConfigMap", "x"), 400, "cannot bind token to object of type /v1, Kind=ConfigMap"],
    [bound("Pod", "p", "apps/v1"), 400, "cannot bind token to object of type apps/v1, Kind=Pod"],
    [
      { boundObjectRef: { kind: "Pod", name: "p", apiVersion: "v1", uid: "old" } },
      409,
      'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated',
    ],
  ])("%j is refused", async (spec, code, message) => {
    await expect(claims(spec)).rejects.toMatchObject({ code, message });
  });
});

describe("expiry", () => {
  test("a kubelet's token for a pod is valid for a year", async () => {
    const spec = { expirationSeconds: 3607, boundObjectRef: { kind: "Pod", name: "p", apiVersion: "v1" } };
    const { status } = await run({ spec: { audiences: [], ...spec } });
    expect(status?.expirationTimestamp).toBe("2026-03-01T01:00:07Z");
    expect(await claims(spec)).toMatchObject({
      exp: Math.floor(now / 1000) + 365 * 24 * 3600,
      "kubernetes.io": { warnafter: Math.floor(now / 1000) + 3607 },
    });
    expect(await claims({ ...spec, audiences: ["vault"] })).toMatchObject({
      exp: Math.floor(now / 1000) + 3607,
    });
    expect(await claims({ expirationSeconds: 3607 })).toMatchObject({ exp: Math.floor(now / 1000) + 3607 });
  });

  test.each([
    [599, "may not specify a duration less than 10 minutes"],
    [0, "may not specify a duration less than 10 minutes"],
    [2 ** 32 + 1, "may not specify a duration larger than 2^32 seconds"],
  ])("%d seconds are refused", async (expirationSeconds, detail) => {
    await expect(claims({ expirationSeconds })).rejects.toMatchObject({
      code: 422,
      message: `TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: ${expirationSeconds}: ${detail}`,
    });
  });
});

test.each([
  ["no such account", {}, "none", 404, 'serviceaccounts "none" not found'],
  [
    "another uid",
    { metadata: { uid: "old" } },
    "sa",
    409,
    /the UID in the token request \(old\) does not match/,
  ],
  ["another name", { metadata: { name: "x" } }, "sa", 422, /metadata\.name: Invalid value: "x": must match/],
  [
    "another namespace",
    { metadata: { namespace: "x" } },
    "sa",
    422,
    /metadata\.namespace: Invalid value: "x"/,
  ],
])("%s is refused", async (_, request, name, code, message) => {
  await expect(run(request, name)).rejects.toMatchObject({ code });
  await expect(run(request, name)).rejects.toThrow(message);
});

test("others can verify tokens with the published keys", () => {
  expect(openidConfiguration({ issuer, server: "https://10.0.0.1:6443" })).toEqual({
    issuer,
    jwks_uri: "https://10.0.0.1:6443/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
  const { keys } = jwks([key]) as { keys: [JsonWebKey] };
  expect(keys[0]).toMatchObject({ use: "sig", kty: "EC", kid: key.id, crv: "P-256", alg: "ES256" });
  expect(keys[0]).not.toHaveProperty("d");
  expect(createPublicKey({ key: { ...keys[0] }, format: "jwk" }).equals(key.publicKey)).toBe(true);
});
