import { createHmac, randomBytes } from "node:crypto";

const key = randomBytes(32);

/**
 * Stands for a token wherever one is looked up. Made with a key that is new in every process, so that neither the
 * time a lookup takes nor what is left in memory tells anything about tokens.
 */
export function tokenDigest(token: string): string {
  return createHmac("sha256", key).update(token).digest("base64");
}
