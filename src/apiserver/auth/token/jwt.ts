import { sign, verify } from "node:crypto";
import type { SigningKey } from "./signing-key.ts";

/** Longer ones are not ours: a token with every claim has some 1,300 characters. */
const maxTokenLength = 16 * 1024;
const dsaEncoding = "ieee-p1363";

export type Unverified = { readonly kind: "invalid"; readonly reason: string };
export type Verified = { readonly kind: "verified"; readonly payload: Readonly<Record<string, unknown>> };

export function signJwt(payload: object, key: SigningKey): string {
  const signed = `${encodePart({ alg: "ES256", kid: key.id })}.${encodePart(payload)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: key.privateKey, dsaEncoding });
  return `${signed}.${signature.toString("base64url")}`;
}

/** Believes nothing in a token before its signature: one algorithm, our keys, our issuer, or it is not ours. */
export function verifyJwt(
  token: string,
  { issuer, keys }: { issuer: string; keys: readonly SigningKey[] },
): Verified | Unverified {
  const parts = token.length <= maxTokenLength ? token.split(".") : [];
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || !header || !payload || !signature) return invalid("invalid bearer token");
  const { alg, kid, crit } = decodePart(header) ?? {};
  const claims = decodePart(payload);
  // Looked at before the costly part; it counts only once the signature holds.
  if (!claims || claims.iss !== issuer) return invalid("invalid bearer token");
  if (alg !== "ES256" || crit !== undefined) return invalid("invalid bearer token");

  const candidates = kid === undefined ? keys : keys.filter((key) => key.id === kid);
  if (candidates.length === 0) return invalid("invalid signature, no keys found");
  const bytes = decodeBase64Url(signature);
  const signed = Buffer.from(`${header}.${payload}`);
  const holds =
    bytes?.length === 64 &&
    candidates.some((key) => verify("sha256", signed, { key: key.publicKey, dsaEncoding }, bytes));
  return holds ? { kind: "verified", payload: claims } : invalid("invalid signature");
}

function invalid(reason: string): Unverified {
  return { kind: "invalid", reason };
}

function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function decodePart(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(decodeBase64Url(text)?.toString() ?? "");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Node's own decoder skips whatever it does not know. */
function decodeBase64Url(text: string): Buffer | undefined {
  return /^[A-Za-z0-9_-]+$/.test(text) ? Buffer.from(text, "base64url") : undefined;
}
