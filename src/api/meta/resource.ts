/** A resource: the URLs, names and scope under which objects of one kind are served. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  /** Plural name in URLs: `statefulsets`. */
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  /** Kind of lists. Default: the kind with `List`. */
  readonly listKind?: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Storage location of the objects. Two resources with the same value serve the same objects (events do). */
  readonly storedAs: string;
  /** Text of the `Warning` header of every response about this resource. */
  readonly deprecated?: string;
}

/** Identifies a resource. */
export type GroupVersionResource = Pick<Resource, "group" | "version" | "plural">;

export function listKindOf({ kind, listKind }: Pick<Resource, "kind" | "listKind">): string {
  return listKind ?? `${kind}List`;
}

/** API version of a resource: `v1`, `apps/v1`. */
export function apiVersionOf(resource: Pick<Resource, "group" | "version">): string {
  return resource.group ? `${resource.group}/${resource.version}` : resource.version;
}

/** Name of a resource in messages: `pods`, `statefulsets.apps`. */
export function qualifiedName(resource: Pick<Resource, "group" | "plural">): string {
  return resource.group ? `${resource.plural}.${resource.group}` : resource.plural;
}
