import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { formatGo, malformed, type PatchError } from "./patch-error.ts";

/** Directive keys of a strategic merge patch. */
export const directives = {
  /** `replace`, `delete` or `merge`: how to apply the patch to the object that contains the key. */
  patch: "$patch",
  /** Keys that the object may have afterwards; others are removed. */
  retainKeys: "$retainKeys",
  /** `$deleteFromPrimitiveList/finalizers`: items to remove. */
  deleteFromList: "$deleteFromPrimitiveList",
  /** `$setElementOrder/containers`: the order of the list. */
  listOrder: "$setElementOrder",
} as const;

type ListDirective = typeof directives.deleteFromList | typeof directives.listOrder;

export const badRetainKeys = "invalid patch format of retainKeys";
export const badListOrder = "invalid patch format of setElementOrder list";

/** List of a directive: `finalizers` of `$deleteFromPrimitiveList/finalizers`. Undefined for other keys. */
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

/** Removes nulls and directives from a value that has no counterpart to merge with. Undefined if nothing remains. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (hasPatchDirective(value)) return undefined;
  const kept = Object.entries(value)
    .filter(([, child]) => child !== null)
    .map(([key, child]): [string, unknown] => [key, withoutDirectives(child)]);
  return Object.fromEntries(kept.filter(([, child]) => child !== undefined));
}
