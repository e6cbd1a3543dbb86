import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { formatGo } from "./format-go.ts";
import { malformed, type PatchError } from "./patch-error.ts";

/** The keys with which a strategic merge patch says what merging alone cannot say. */
export const directives = {
  /** `replace`, `delete` or `merge`: what becomes of the object that it stands in. */
  patch: "$patch",
  /** All keys that the object may have afterwards. */
  retainKeys: "$retainKeys",
  /** `$deleteFromPrimitiveList/finalizers`: items to be taken out. */
  deleteFromList: "$deleteFromPrimitiveList",
  /** `$setElementOrder/containers`: the order of the list. */
  listOrder: "$setElementOrder",
} as const;

type ListDirective = typeof directives.deleteFromList | typeof directives.listOrder;

export const badRetainKeys = "invalid patch format of retainKeys";
export const badListOrder = "invalid patch format of setElementOrder list";

/** `finalizers` of `$deleteFromPrimitiveList/finalizers`; undefined for any other key. */
export function listOfDirective(key: string, directive: ListDirective): string | undefined {
  if (!key.startsWith(directive)) return undefined;
  if (key[directive.length] !== "/") {
    throw malformed(
      directive === directives.listOrder ? badListOrder : "invalid patch format of primitive list",
    );
  }
  return key.slice(directive.length + 1);
}

export function hasPatchDirective(item: JsonObject): boolean {
  return Object.hasOwn(item, directives.patch);
}

export function unknownPatchDirective(item: JsonObject): PatchError {
  return malformed(
    `unknown patch type: ${formatGo(item[directives.patch] ?? null)} in map: ${formatGo(item)}`,
  );
}

/** A value that has nothing to merge with: its nulls and what is marked by `$patch` fall away, maybe all of it. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (hasPatchDirective(value)) return undefined;
  const kept = Object.entries(value)
    .filter(([, child]) => child !== null)
    .map(([key, child]): [string, unknown] => [key, withoutDirectives(child)]);
  return Object.fromEntries(kept.filter(([, child]) => child !== undefined));
}
