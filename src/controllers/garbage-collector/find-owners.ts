import type { KubeObject, OwnerReference } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { objectPath, type ResourceAddress, resourceOfKind } from "../../client/api/resource-path.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import { discoverGroupVersion } from "../shared/discover-resources.ts";
import { deletionOf, type OwnerState } from "./owner-graph.ts";

/** A cluster-scoped object names a namespaced owner, which cannot exist. */
export class ImpossibleOwner extends Error {}

export interface OwnerFinder {
  /** Gets the owner from the API unless it is known to be gone. */
  stateOf(reference: OwnerReference, namespace: string, signal: AbortSignal): Promise<OwnerState>;
  /** Records that an object is gone, so that its dependents need no request. */
  recordGone(object: KubeObject): void;
}

/** Number of absent owners to remember, as upstream. */
const maxAbsentOwners = 500;

export function createOwnerFinder(client: Pick<Client, "request">): OwnerFinder {
  const absent = createLruMap<true>(maxAbsentOwners);

  /** Resources of kinds that are not built in are discovered each time: such owners are rare, and kinds may change. */
  async function addressOf(
    { apiVersion, kind }: OwnerReference,
    signal: AbortSignal,
  ): Promise<ResourceAddress> {
    const known = resourceOfKind(apiVersion, kind);
    if (known) return known;
    const served = await discoverGroupVersion(client, apiVersion, signal);
    const found = served.find((resource) => resource.kind === kind);
    if (!found) throw new Error(`unable to get REST mapping for ${apiVersion}/${kind}.`);
    return found;
  }

  return {
    async stateOf(reference, namespace, signal) {
      const { apiVersion, kind, name, uid } = reference;
      const key = absentKey({ apiVersion, kind, namespace, name, uid });
      const clusterWide = absentKey({ apiVersion, kind, namespace: "", name, uid });
      if (absent.get(key) ?? absent.get(clusterWide)) return "dangling";
      const address = await addressOf(reference, signal);
      if (address.namespaced && !namespace) {
        throw new ImpossibleOwner("cluster-scoped objects cannot refer to namespaced owners");
      }
      const path = objectPath(address, { namespace, name });
      const owner = await client.request<KubeObject>("GET", path, { signal }).catch(undefinedIfMissing);
      if (owner?.metadata.uid === uid)
        return deletionOf(owner.metadata) === "foreground" ? "waiting" : "solid";
      absent.set(address.namespaced ? key : clusterWide, true);
      return "dangling";
    },
    recordGone({ apiVersion, kind, metadata: { namespace = "", name = "", uid = "" } }) {
      absent.set(absentKey({ apiVersion, kind, namespace, name, uid }), true);
    },
  };
}

function absentKey(identity: {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid: string;
}): string {
  const { apiVersion, kind, namespace, name, uid } = identity;
  return `${apiVersion} ${kind} ${namespace}/${name} ${uid}`;
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
