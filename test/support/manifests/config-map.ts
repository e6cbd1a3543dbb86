import type { ConfigMap, ObjectMeta } from "../../../src/api/meta/objects.ts";

export function makeConfigMap(
  name: string,
  { data, ...metadata }: ObjectMeta & { readonly data?: Record<string, string> } = {},
): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", ...metadata }, data };
}
