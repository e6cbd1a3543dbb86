import { createHash } from "node:crypto";

/** What blobs are named by. */
export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
