import { builtInKinds } from "../../api/kinds/built-in-kinds.ts";
import { apiVersionOf, type Resource } from "../../api/meta/resource.ts";
import type { ResourceName } from "./client.ts";

const byName = new Map<string, Resource>();
const byKind = new Map<string, Resource>();
for (const { resource } of builtInKinds) {
  // Two groups serve events: the typed client uses the first one, core.
  if (!byName.has(resource.plural)) byName.set(resource.plural, resource);
  byKind.set(`${apiVersionOf(resource)}/${resource.kind}`, resource);
}

/** Names of all built-in resources. */
export const resourceNames = [...byName.keys()] as readonly ResourceName[];

export function resourceNamed(name: ResourceName): Resource {
  const resource = byName.get(name);
  if (!resource) throw new Error(`the API has no resource ${name}`);
  return resource;
}

/** Resource of a built-in kind. Undefined for other kinds. */
export function resourceOfKind(apiVersion: string, kind: string): Resource | undefined {
  return byKind.get(`${apiVersion}/${kind}`);
}

/** The parts of a resource's URLs. The kind is known for built-in kinds only. */
export type ResourceAddress = Pick<Resource, "group" | "version" | "plural" | "namespaced"> & {
  readonly kind?: string;
};

/** `/apis/apps/v1/namespaces/default/statefulsets`, or all namespaces when none is given. */
export function collectionPath(resource: ResourceAddress, namespace: string | undefined): string {
  const { group, version, plural, namespaced } = resource;
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`;
  return namespaced && namespace
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`
    : `${root}/${plural}`;
}

export interface ObjectPlace {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

export function objectPath(resource: ResourceAddress, { namespace, name, subresource }: ObjectPlace): string {
  if (!name) throw new Error(`metadata.name of a ${resource.kind ?? resource.plural} is not set`);
  const path = `${collectionOf(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** Path of the collection that contains an object. */
export function collectionOf(resource: ResourceAddress, namespace: string | undefined): string {
  if (resource.namespaced && !namespace) {
    throw new Error(`metadata.namespace of a ${resource.kind ?? resource.plural} is not set`);
  }
  return collectionPath(resource, namespace);
}

/** Formats the defined parameters as `?a=1&b=2`. */
export function formatQuery(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text && `?${text}`;
}
