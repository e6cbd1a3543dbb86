import type { Resource } from "../../api/resources.ts";

export const registryPrefix = "/registry/";

/** Where all objects of a kind, or those of one namespace, are kept. */
export function keyPrefix(resource: Pick<Resource, "storedAs">, namespace = ""): string {
  const root = `${registryPrefix}${resource.storedAs}/`;
  return namespace ? `${root}${keySegment(namespace)}/` : root;
}

export function objectKey(
  resource: Pick<Resource, "storedAs" | "namespaced">,
  namespace: string,
  name: string,
): string {
  return `${keyPrefix(resource, resource.namespaced ? namespace : "")}${keySegment(name)}`;
}

/** The part of a key that says which kind it belongs to: `core/pods`. */
export function storageNameOf(key: string): string {
  const group = key.indexOf("/", registryPrefix.length);
  return key.slice(registryPrefix.length, key.indexOf("/", group + 1));
}

const plain = /^[!-$&-.0-~]+$/;

/** Names come from URLs and may hold anything there: a slash must not lead to another object's key. */
function keySegment(name: string): string {
  // Half a surrogate pair, which JSON can hold and UTF-8 cannot, is stored as the replacement character.
  return plain.test(name) ? name : encodeURIComponent(Buffer.from(name).toString());
}
