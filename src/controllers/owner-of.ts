import { controllerOf } from "../api/controller-reference.ts";
import type { KubeObject } from "../api/objects.ts";
import type { Informer } from "../client/informer.ts";

/** The object that is in charge of another one, when it is of this kind and is still the same one. */
export function ownerOf<Owner extends KubeObject>(
  object: KubeObject,
  kind: string,
  owners: Pick<Informer<Owner>, "get">,
): Owner | undefined {
  const reference = controllerOf(object);
  if (reference?.kind !== kind) return undefined;
  const owner = owners.get(`${object.metadata.namespace}/${reference.name}`);
  return owner?.metadata.uid === reference.uid ? owner : undefined;
}
