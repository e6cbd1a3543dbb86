import { type Resource, resources } from "../../api/resources.ts";
import { type CachedKind, cachedKind } from "../cache/cached-object.ts";
import { strategyFor } from "../strategy/strategies.ts";

/** The kinds that are stored: of rows that serve the same objects, the first is how they are stored. */
export const storedKinds: readonly CachedKind[] = resources
  .filter((resource, i) => resources.findIndex((other) => other.storedAs === resource.storedAs) === i)
  .map((resource) => cachedKind(resource, strategyFor(resource).selectableFields));

const byStorage = new Map(storedKinds.map((kind) => [kind.resource.storedAs, kind]));

export function storedKindOf({ storedAs }: Pick<Resource, "storedAs">): CachedKind {
  const kind = byStorage.get(storedAs);
  if (!kind) throw new Error(`no kind is stored as ${storedAs}`);
  return kind;
}
