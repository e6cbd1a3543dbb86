import { describe, expect, test, vi } from "vitest";
import type { AuthenticateToken } from "../token/authenticate-token.ts";
import { authenticate, type PeerSocket } from "./authenticate.ts";

const jane = { username: "jane", groups: ["system:authenticated"], extra: {} };
const withoutCertificate = () => peer({ authorized: false });
const withBadCertificate = () => peer({ authorized: false, certificate: {} });

function peer({ authorized, certificate }: { authorized: boolean; certificate?: object }): PeerSocket {
  return {
    authorized,
    authorizationError: new Error("SELF_SIGNED_CERT"),
    getPeerX509Certificate: () => certificate as ReturnType<PeerSocket["getPeerX509Certificate"]>,
  };
}

const authenticateToken: AuthenticateToken = async (token, audiences) =>
  token === "good" && audiences.includes("api")
    ? { kind: "user", user: jane, audiences: ["api"] }
    : { kind: "invalid", reason: "invalid bearer token" };

const run = (authorization: string | undefined, socket = withoutCertificate()) =>
  authenticate({ socket, authorization }, { authenticateToken, apiAudiences: ["api"], now: () => 0 });

describe("without a certificate", () => {
  test.each([
    ["Bearer good", "user"],
    ["bearer good", "user"],
    ["  BEARER good  ", "user"],
    ["Bearer good and more", "user"],
    ["Bearer bad", "unauthorized"],
    [undefined, "anonymous"],
    ["", "anonymous"],
    ["Bearer", "anonymous"],
    ["Bearer  good", "anonymous"],
    ["Basic Z29vZDpnb29k", "anonymous"],
    ["good", "anonymous"],
  ])("%j is %s", async (authorization, kind) => {
    expect(await run(authorization)).toMatchObject({ kind });
  });

  test("an anonymous user is not in system:authenticated", async () => {
    expect(await run(undefined)).toEqual({
      kind: "anonymous",
      user: { username: "system:anonymous", groups: ["system:unauthenticated"], extra: {} },
    });
  });
});

describe("with an invalid certificate", () => {
  test("a valid token is still accepted", async () => {
    expect(await run("Bearer good", withBadCertificate())).toEqual({ kind: "user", user: jane });
  });

  test("a request without credentials is anonymous", async () => {
    expect(await run(undefined, withBadCertificate())).toMatchObject({ kind: "unauthorized" });
  });
});

test("the reason of a refusal does not contain the token", async () => {
  const secret = "s3cr3t";
  expect(JSON.stringify(await run(`Bearer ${secret}`))).not.toContain(secret);
});

test("with a certificate, the token is not checked", async () => {
  const spy = vi.fn(authenticateToken);
  const certificate = {
    toLegacyObject: () => ({ subject: { CN: "jane" } }),
    fingerprint256: "AB:CD",
    validTo: "Jan  1 00:00:00 2100 GMT",
  };
  const socket = peer({ authorized: true, certificate });
  const deps = { authenticateToken: spy, apiAudiences: ["api"], now: () => 0 };
  expect(await authenticate({ socket, authorization: "Bearer good" }, deps)).toMatchObject({ kind: "user" });
  expect(spy).not.toHaveBeenCalled();
});
