import type { KubeObject, OwnerReference } from "../../api/objects.ts";
import { findResourceOfKind } from "../../api/resources.ts";
import type { Client } from "../../client/client.ts";
import { createRecentMap } from "../../client/recent-map.ts";
import { objectPath, type ResourceAddress } from "../../client/resource-path.ts";
import { isNotFound } from "../../client/status-errors.ts";
import { discoverGroupVersion } from "../discover-resources.ts";
import type { OwnerState } from "./decide-item.ts";
import { deletionOf } from "./owner-graph.ts";

/** Something with a namespace owns something without one: that is never true, and never will be. */
export class ImpossibleOwner extends Error {}

export interface OwnerFinder {
  /** Asks the API, unless the owner is known to be gone. */
  stateOf(reference: OwnerReference, namespace: string, signal: AbortSignal): Promise<OwnerState>;
  /** Takes note that an object is gone: what it owned need not ask for it. */
  noteGone(object: KubeObject): void;
}

/** As many owners as upstream remembers to be gone. */
const rememberedAbsent = 500;

export function createOwnerFinder(client: Pick<Client, "request">): OwnerFinder {
  const absent = createRecentMap<true>(rememberedAbsent);

  /** Kinds that are not ours are looked up each time: such owners are rare, and their kinds may come and go. */
  async function addressOf(
    { apiVersion, kind }: OwnerReference,
    signal: AbortSignal,
  ): Promise<ResourceAddress> {
    const known = findResourceOfKind(apiVersion, kind);
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
    noteGone({ apiVersion, kind, metadata: { namespace = "", name = "", uid = "" } }) {
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
