import { Buffer } from "node:buffer";
import type { Secret } from "../../api/objects.ts";
import { type KeySelection, type Payload, selectKeys } from "./payload.ts";

/** The files of a secret; none at all is an empty one when it is optional. */
export function secretPayload(
  secret: Secret | undefined,
  selection: KeySelection & { readonly name?: string },
): Payload {
  if (!secret && !selection.optional) throw new Error(`secret "${selection.name ?? ""}" not found`);
  const entries = Object.entries(secret?.data ?? {});
  const data = new Map(entries.map(([key, value]) => [key, Buffer.from(value, "base64")]));
  return selectKeys(data, selection, (key) => `references non-existent secret key: ${key}`);
}
