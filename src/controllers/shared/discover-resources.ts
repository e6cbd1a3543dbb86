import type { Client } from "../../client/api/client.ts";
import type { ResourceAddress } from "../../client/api/resource-path.ts";

/** Resource that a server serves according to its discovery documents. */
export interface ServedResource extends ResourceAddress {
  readonly verbs: readonly string[];
}

interface GroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly preferredVersion?: { readonly groupVersion: string };
    readonly versions?: readonly { readonly groupVersion: string }[];
  }[];
}

interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

type Requests = Pick<Client, "request">;

/** Lists the resources of a group version (`v1`, `apps/v1`) without subresources. */
export async function discoverGroupVersion(
  client: Requests,
  groupVersion: string,
  signal: AbortSignal,
): Promise<readonly ServedResource[]> {
  const [group, version] = groupVersion.includes("/") ? groupVersion.split("/") : ["", groupVersion];
  const path = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const { resources = [] } = await client.request<ResourceList>("GET", path, { signal });
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map(({ name, kind, namespaced, verbs }) => ({
      group: group ?? "",
      version: version ?? "",
      plural: name,
      kind,
      namespaced,
      verbs,
    }));
}

/** Lists every resource in the preferred version of its group. */
export async function discoverResources(
  client: Requests,
  signal: AbortSignal,
): Promise<readonly ServedResource[]> {
  const { groups = [] } = await client.request<GroupList>("GET", "/apis", { signal });
  const versions = ["v1", ...groups.flatMap((group) => preferredVersion(group) ?? [])];
  const found = await Promise.all(versions.map((version) => discoverGroupVersion(client, version, signal)));
  return found.flat();
}

function preferredVersion({ preferredVersion, versions = [] }: NonNullable<GroupList["groups"]>[number]) {
  return preferredVersion?.groupVersion ?? versions[0]?.groupVersion;
}
