import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/** P-256 key that signs tokens. `id` is the key ID in tokens and in the JWKS. */
export interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function signingKeyOf(privateKey: KeyObject): SigningKey {
  if (privateKey.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new Error("the service account key must be an ECDSA key on the curve P-256");
  }
  const publicKey = createPublicKey(privateKey);
  const der = publicKey.export({ type: "spki", format: "der" });
  return { id: createHash("sha256").update(der).digest("base64url"), privateKey, publicKey };
}

/** Maximum length of a token. One with every claim has about 1,300 characters. */
const maxTokenLength = 16 * 1024;
const dsaEncoding = "ieee-p1363";

export type Unverified = { readonly kind: "invalid"; readonly reason: string };
type Verified = { readonly kind: "verified"; readonly payload: Readonly<Record<string, unknown>> };

export function signJwt(payload: object, key: SigningKey): string {
  const signed = `${encodePart({ alg: "ES256", kid: key.id })}.${encodePart(payload)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: key.privateKey, dsaEncoding });
  return `${signed}.${signature.toString("base64url")}`;
}

/** Verifies a token. Claims are not used before the signature is verified with one algorithm and the given keys. */
export function verifyJwt(
  token: string,
  { issuer, keys }: { issuer: string; keys: readonly SigningKey[] },
): Verified | Unverified {
  const parts = token.length <= maxTokenLength ? token.split(".") : [];
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || !header || !payload || !signature) return invalid("invalid bearer token");
  const { alg, kid, crit } = decodePart(header) ?? {};
  const claims = decodePart(payload);
  // Checked before the expensive verification. It is trusted only once the signature is valid.
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

/** Strict decoder: that of Node.js ignores invalid characters. */
function decodeBase64Url(text: string): Buffer | undefined {
  return /^[A-Za-z0-9_-]+$/.test(text) ? Buffer.from(text, "base64url") : undefined;
}
