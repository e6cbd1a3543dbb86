import { type Resource, resources } from "../api/resources.ts";
import type { ResourceName } from "./client.ts";

const byName = new Map<string, Resource>();
// Events are served by two groups: the first one, core, is the one that is meant.
for (const resource of resources) if (!byName.has(resource.plural)) byName.set(resource.plural, resource);

export function resourceNamed(name: ResourceName): Resource {
  const resource = byName.get(name);
  if (!resource) throw new Error(`the API has no resource ${name}`);
  return resource;
}

/** What a kind's URLs are made of. */
export type ResourceAddress = Pick<Resource, "group" | "version" | "plural" | "kind" | "namespaced">;

/** `/apis/apps/v1/namespaces/default/statefulsets`; of all namespaces when none is named. */
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
  if (!name) throw new Error(`metadata.name of a ${resource.kind} is not set`);
  const path = `${collectionOf(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** The one collection to which an object belongs. */
export function collectionOf(resource: ResourceAddress, namespace: string | undefined): string {
  if (resource.namespaced && !namespace) {
    throw new Error(`metadata.namespace of a ${resource.kind} is not set`);
  }
  return collectionPath(resource, namespace);
}

/** `?a=1&b=2` of what is set. */
export function formatQuery(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text && `?${text}`;
}
