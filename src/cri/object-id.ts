import { randomBytes } from "node:crypto";

/** Ids of sandboxes and containers: 64 hex digits, as all runtimes have them. */
export function newObjectId(): string {
  return randomBytes(32).toString("hex");
}
