import { createHash, createPublicKey, type KeyObject } from "node:crypto";

/** A P-256 key that signs tokens, and the name under which tokens and the JWKS refer to it. */
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
