import { Buffer } from "node:buffer";
import type { ConfigMap } from "../../api/objects.ts";
import { type KeySelection, type Payload, selectKeys } from "./payload.ts";

/** The files of a config map; none at all is an empty one when it is optional. */
export function configMapPayload(
  configMap: ConfigMap | undefined,
  selection: KeySelection & { readonly name?: string },
): Payload {
  if (!configMap && !selection.optional) throw new Error(`configmap "${selection.name ?? ""}" not found`);
  const data = new Map<string, Buffer>();
  // Text goes before bytes where both have the key.
  for (const [key, value] of Object.entries(configMap?.binaryData ?? {})) {
    data.set(key, Buffer.from(value, "base64"));
  }
  for (const [key, value] of Object.entries(configMap?.data ?? {})) data.set(key, Buffer.from(value));
  return selectKeys(data, selection, (key) => `configmap references non-existent config key: ${key}`);
}
