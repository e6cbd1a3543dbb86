import type { Resource } from "../../api/meta/resource.ts";

export const registryPrefix = "/registry/";

/** Key prefix of all objects of a kind, or of those in one namespace. */
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

/** Part of a key that identifies the storage location: `core/pods`. */
export function storageNameOf(key: string): string {
  const group = key.indexOf("/", registryPrefix.length);
  return key.slice(registryPrefix.length, key.indexOf("/", group + 1));
}

const plain = /^[!-$&-.0-~]+$/;

/** Escapes names, which come from URLs: a slash must not lead to the key of another object. */
function keySegment(name: string): string {
  // An unpaired surrogate, which UTF-8 cannot encode, becomes the replacement character.
  return plain.test(name) ? name : encodeURIComponent(Buffer.from(name).toString());
}
