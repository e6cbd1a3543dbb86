import type { KubeObject, Pod } from "../../../api/objects.ts";
import { lookupOf } from "../../registry/object-lookup.ts";
import type { Registry } from "../../registry/registry.ts";
import type { TokenObjects } from "./bind-token.ts";
import type { BoundObject, BoundObjects } from "./check-claims.ts";

/** The objects that service account tokens are for and bound to. */
export function createTokenObjects(registry: Registry): TokenObjects {
  const accounts = lookupOf(registry, "", "serviceaccounts");
  const pods = lookupOf<Pod>(registry, "", "pods");
  const secrets = lookupOf(registry, "", "secrets");
  const nodes = lookupOf(registry, "", "nodes");
  return {
    serviceAccount: (namespace, name) => accounts.current(namespace, name),
    pod: (namespace, name) => pods.current(namespace, name),
    secret: (namespace, name) => secrets.current(namespace, name),
    node: (name) => nodes.current("", name),
  };
}

/** The same, as far as the validity of a token depends on them. */
export function boundObjects(objects: TokenObjects): BoundObjects {
  return {
    serviceAccount: async (namespace, name) => toBound(await objects.serviceAccount(namespace, name)),
    pod: async (namespace, name) => toBound(await objects.pod(namespace, name)),
    secret: async (namespace, name) => toBound(await objects.secret(namespace, name)),
    node: async (name) => toBound(await objects.node(name)),
  };
}

function toBound(object: KubeObject | undefined): BoundObject | undefined {
  if (!object) return undefined;
  const { uid = "", deletionTimestamp } = object.metadata;
  return { uid, ...(deletionTimestamp && { deletionTimestamp }) };
}
