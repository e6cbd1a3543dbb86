import { beforeEach, describe, expect, test, vi } from "vitest";
import { generateKey } from "../../../lib/x509/certificate.ts";
import { createTokenAuthenticator, type TokenDeps } from "./authenticate-token.ts";
import { type Binding, type BoundObject, buildClaims } from "./claims.ts";
import { signingKeyOf, signJwt } from "./jwt.ts";
import { parseTokenFile } from "./token-file.ts";

const key = signingKeyOf(generateKey());
const issuer = "https://kubernetes.default.svc.cluster.local";
const start = Date.parse("2026-03-01T00:00:00Z");
let now: number;
let objects: Map<string, BoundObject>;
let deps: TokenDeps;

beforeEach(() => {
  now = start;
  objects = new Map([
    ["serviceaccount", { uid: "sa-1" }],
    ["pod", { uid: "pod-1" }],
    ["secret", { uid: "secret-1" }],
    ["node", { uid: "node-1" }],
  ]);
  deps = {
    issuer,
    apiAudiences: [issuer],
    keys: [key],
    objects: {
      serviceAccount: (namespace, name) =>
        namespace === "ns" && name === "sa" ? objects.get("serviceaccount") : undefined,
      pod: async (_, name) => (name === "p" ? objects.get("pod") : undefined),
      secret: (_, name) => (name === "s" ? objects.get("secret") : undefined),
      node: (name) => (name === "n" ? objects.get("node") : undefined),
    },
    staticTokens: parseTokenFile('static,jane,7,"dev"', "f"),
    now: () => now,
  };
});

const pod = { pod: { name: "p", uid: "pod-1" }, node: { name: "n", uid: "node-1" } };

function token(binding: Binding = {}, audiences = [issuer]): string {
  const serviceAccount = { namespace: "ns", name: "sa", uid: "sa-1" };
  const facts = {
    issuer,
    audiences,
    serviceAccount,
    binding,
    expirationSeconds: 600,
    id: "id-1",
    now: start,
  };
  return signJwt(buildClaims(facts), key);
}

async function reason(text: string, audiences = [issuer], authenticate = createTokenAuthenticator(deps)) {
  const verdict = await authenticate(text, audiences);
  return verdict.kind === "invalid" ? verdict.reason : undefined;
}

test("a service account token authenticates the account with its pod and node", async () => {
  expect(await createTokenAuthenticator(deps)(token(pod), [issuer])).toEqual({
    kind: "user",
    audiences: [issuer],
    user: {
      username: "system:serviceaccount:ns:sa",
      uid: "sa-1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      extra: {
        "authentication.kubernetes.io/credential-id": ["JTI=id-1"],
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": ["pod-1"],
        "authentication.kubernetes.io/node-name": ["n"],
        "authentication.kubernetes.io/node-uid": ["node-1"],
      },
    },
  });
});

test("ignores groups in a token", async () => {
  const claims = { ...JSON.parse(Buffer.from(token().split(".")[1] ?? "", "base64url").toString()) };
  const verdict = await createTokenAuthenticator(deps)(
    signJwt({ ...claims, groups: ["system:masters"], username: "admin" }, key),
    [issuer],
  );
  expect(verdict).toMatchObject({ user: { username: "system:serviceaccount:ns:sa" } });
  expect(JSON.stringify(verdict)).not.toContain("masters");
});

describe("time", () => {
  test.each([
    ["at once", 0, undefined],
    ["a second before the end", 599_000, undefined],
    ["at the end", 600_000, "service account token has expired"],
    ["on a clock a minute behind", -60_000, undefined],
    ["on a clock far behind", -61_000, "service account token is not valid yet"],
  ])("%s", async (_, elapsed, expected) => {
    now = start + elapsed;
    expect(await reason(token())).toBe(expected);
  });

  test("a cached result expires with its token", async () => {
    const authenticate = createTokenAuthenticator(deps);
    const text = token();
    now = start + 590_000;
    expect(await reason(text, [issuer], authenticate)).toBeUndefined();
    now = start + 600_000;
    expect(await reason(text, [issuer], authenticate)).toBe("service account token has expired");
  });
});

describe("audiences", () => {
  test.each([
    ["ours", [issuer], [issuer], undefined],
    ["one of several", ["vault", issuer], [issuer], undefined],
    [
      "another's",
      ["vault"],
      [issuer],
      `token audiences ["vault"] is invalid for the target audiences ["${issuer}"]`,
    ],
    ["another's, asked for by it", ["vault"], ["vault"], undefined],
    ["none", [], [issuer], `token audiences [] is invalid for the target audiences ["${issuer}"]`],
  ])("%s", async (_, own, wanted, expected) => {
    expect(await reason(token({}, own), wanted)).toBe(expected);
  });
});

describe("a token is invalid once the object that it is bound to is deleted", () => {
  const longAgo = new Date(start - 61_000).toISOString();
  const justNow = new Date(start - 1000).toISOString();
  const invalidated = "service account token has been invalidated";
  test.each<[string, Binding, string, BoundObject | undefined, string | undefined]>([
    ["its account is gone", {}, "serviceaccount", undefined, 'serviceaccounts "sa" not found'],
    [
      "its account is another",
      {},
      "serviceaccount",
      { uid: "sa-2" },
      "service account UID (sa-2) does not match claim (sa-1)",
    ],
    [
      "its account goes",
      {},
      "serviceaccount",
      { uid: "sa-1", deletionTimestamp: longAgo },
      "service account ns/sa has been deleted",
    ],
    [
      "its account begins to go",
      {},
      "serviceaccount",
      { uid: "sa-1", deletionTimestamp: justNow },
      undefined,
    ],
    ["its pod is gone", pod, "pod", undefined, invalidated],
    [
      "its pod is another",
      pod,
      "pod",
      { uid: "pod-2" },
      "pod UID (pod-2) does not match service account pod ref claim (pod-1)",
    ],
    ["its pod is long terminating", pod, "pod", { uid: "pod-1", deletionTimestamp: longAgo }, invalidated],
    ["its pod begins to go", pod, "pod", { uid: "pod-1", deletionTimestamp: justNow }, undefined],
    ["the node of its pod, which the token only mentions, is gone", pod, "node", undefined, undefined],
    ["its node is gone", { node: { name: "n", uid: "node-1" } }, "node", undefined, invalidated],
    [
      "its node is another",
      { node: { name: "n", uid: "node-1" } },
      "node",
      { uid: "x" },
      "node UID (x) does not match service account node ref claim (node-1)",
    ],
    ["its secret is gone", { secret: { name: "s", uid: "secret-1" } }, "secret", undefined, invalidated],
  ])("%s", async (_, binding, kind, object, expected) => {
    const authenticate = createTokenAuthenticator(deps);
    const text = token(binding);
    expect(await reason(text, [issuer], authenticate)).toBeUndefined();
    if (object) objects.set(kind, object);
    else objects.delete(kind);
    // Although the token has been seen and found good a moment ago.
    expect(await reason(text, [issuer], authenticate)).toBe(expected);
  });
});

describe("the cache", () => {
  test("returns the same user object, so that decisions can be cached", async () => {
    const authenticate = createTokenAuthenticator(deps);
    const [first, second] = [await authenticate(token(), [issuer]), await authenticate(token(), [issuer])];
    const text = token();
    const [third, fourth] = [await authenticate(text, [issuer]), await authenticate(text, [issuer])];
    expect(first.kind === "user" && second.kind === "user" && first.user !== second.user).toBe(true);
    expect(third.kind === "user" && fourth.kind === "user" && third.user === fourth.user).toBe(true);
  });

  test("does not cache failures", async () => {
    const authenticate = createTokenAuthenticator(deps);
    const lookup = vi.spyOn(deps.objects, "serviceAccount");
    const [head, body] = token().split(".");
    for (let i = 0; i < 3; i++) {
      expect(await reason(`${head}.${body}.${"A".repeat(86)}`, [issuer], authenticate)).toBe(
        "invalid signature",
      );
    }
    expect(lookup).not.toHaveBeenCalled();
  });
});

describe("static tokens", () => {
  test("authenticate their user for the API audience only", async () => {
    const authenticate = createTokenAuthenticator(deps);
    expect(await authenticate("static", [issuer])).toMatchObject({
      kind: "user",
      user: { username: "jane", uid: "7", groups: ["dev", "system:authenticated"] },
    });
    expect(await authenticate("static", ["vault"])).toMatchObject({ kind: "invalid" });
    expect(await authenticate("statiC", [issuer])).toEqual({
      kind: "invalid",
      reason: "invalid bearer token",
    });
  });
});
