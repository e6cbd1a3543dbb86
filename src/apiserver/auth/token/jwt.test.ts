import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { generateKey } from "../../../lib/x509/certificate.ts";
import { signingKeyOf, signJwt, verifyJwt } from "./jwt.ts";

const key = signingKeyOf(generateKey());
const otherKey = signingKeyOf(generateKey());
const issuer = "https://issuer";
const claims = { iss: issuer, sub: "x" };
const good = signJwt(claims, key);
const [head = "", body = "", signature = ""] = good.split(".");

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const verify = (token: string) => verifyJwt(token, { issuer, keys: [key] });

/** Signs whatever is given, with our own key: what is wrong is only the rest. */
function signed(header: object, payload: unknown = claims, signer = key): string {
  const text = `${part(header)}.${part(payload)}`;
  const bytes = sign("sha256", Buffer.from(text), { key: signer.privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${bytes.toString("base64url")}`;
}

function hs256(secret: string | Buffer): string {
  const text = `${part({ alg: "HS256", kid: key.id })}.${body}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

function der(): string {
  return sign("sha256", Buffer.from(`${head}.${body}`), key.privateKey).toString("base64url");
}

test("a token signed with the key is verified", () => {
  expect(verify(good)).toEqual({ kind: "verified", payload: claims });
  expect(verify(signed({ alg: "ES256" }))).toMatchObject({ kind: "verified" });
});

describe("hostile tokens", () => {
  const publicPem = key.publicKey.export({ type: "spki", format: "pem" });
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  test.each([
    ["nothing", ""],
    ["no dots", "abc"],
    ["two parts", `${head}.${body}`],
    ["empty signature", `${head}.${body}.`],
    ["four parts", `${good}.${signature}`],
    ["dots only", ".."],
    ["many dots", ".".repeat(10_000)],
    ["alg none", `${part({ alg: "none", kid: key.id })}.${body}.`],
    ["alg none with our signature", `${part({ alg: "none", kid: key.id })}.${body}.${signature}`],
    ["alg None", signed({ alg: "None", kid: key.id })],
    ["alg of another case", signed({ alg: "es256", kid: key.id })],
    ["alg as a list", signed({ alg: ["ES256"], kid: key.id })],
    ["HS256 with our public key in PEM", hs256(publicPem)],
    ["HS256 with our public key in DER", hs256(key.publicKey.export({ type: "spki", format: "der" }))],
    ["HS256 with nothing", hs256("")],
    [
      "RS256 by another key",
      `${part({ alg: "RS256" })}.${body}.${sign("sha256", Buffer.from(body), rsa).toString("base64url")}`,
    ],
    ["an unknown key id", signed({ alg: "ES256", kid: otherKey.id })],
    ["a key id that is no string", signed({ alg: "ES256", kid: { length: 1 } })],
    ["our key id, but another key", signed({ alg: "ES256", kid: key.id }, claims, otherKey)],
    ["another key without an id", signed({ alg: "ES256" }, claims, otherKey)],
    [
      "with its own key in the header",
      signed({ alg: "ES256", jwk: otherKey.publicKey.export({ format: "jwk" }) }, claims, otherKey),
    ],
    ["critical extensions", signed({ alg: "ES256", kid: key.id, crit: ["exp"] })],
    ["another issuer", signed({ alg: "ES256", kid: key.id }, { ...claims, iss: "https://other" })],
    ["no issuer", signed({ alg: "ES256", kid: key.id }, {})],
    ["changed claims", `${head}.${part({ ...claims, sub: "admin" })}.${signature}`],
    ["a changed signature", `${head}.${body}.${signature.slice(0, -4)}AAAA`],
    ["a signature of zeros", `${head}.${body}.${Buffer.alloc(64).toString("base64url")}`],
    ["a signature in DER", `${head}.${body}.${der()}`],
    ["a longer signature", `${head}.${body}.${signature}AAAA`],
    [
      "standard base64",
      `${head}.${Buffer.from(JSON.stringify({ ...claims, x: "???>>>" })).toString("base64")}.${signature}`,
    ],
    ["padding", `${head}=.${body}.${signature}`],
    ["spaces", `${head}. ${body}.${signature}`],
    ["a line end", `${good}\n`],
    ["broken base64", `${head}.!!!!.${signature}`],
    ["broken JSON", `${head}.${Buffer.from("{").toString("base64url")}.${signature}`],
    ["null as claims", signed({ alg: "ES256", kid: key.id }, null)],
    ["a list as claims", signed({ alg: "ES256", kid: key.id }, [issuer])],
    ["a huge token", signed({ alg: "ES256", kid: key.id }, { ...claims, x: "x".repeat(100_000) })],
    ["the flattened JSON form", JSON.stringify({ protected: head, payload: body, signature })],
  ])("%s", (_, token) => {
    const result = verify(token);
    expect(result.kind).toBe("invalid");
    expect(JSON.stringify(result)).not.toContain(signature);
  });
});

test("after a rotation the old key still verifies", () => {
  expect(verifyJwt(good, { issuer, keys: [otherKey, key] })).toMatchObject({ kind: "verified" });
});

test("only P-256 keys sign", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "secp384r1" });
  expect(() => signingKeyOf(privateKey)).toThrow(/P-256/);
});
