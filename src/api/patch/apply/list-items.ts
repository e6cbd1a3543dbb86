import { isJsonObject } from "../../schema/json-object.ts";
import { ApplyError } from "./apply-error.ts";
import type { MergeType } from "./merge-type.ts";

type AssociativeList = Extract<MergeType, { kind: "set" | "listMap" }>;

/** Returns the items of a list; none for null and for values that are not lists. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the path element that identifies an item: `v:"x"` or `k:{"name":"x"}`. */
export function elementOf(type: AssociativeList, item: unknown): string {
  if (type.kind === "set") return `v:${JSON.stringify(item)}`;
  if (!isJsonObject(item)) {
    throw new ApplyError("associative list may not have non-map types");
  }
  const key: Record<string, unknown> = {};
  for (const { name, default: defaultValue } of type.keys) {
    const value = item[name] ?? defaultValue;
    if (value === undefined) {
      throw new ApplyError(
        `associative list with keys has an element that omits key field ${JSON.stringify(name)} (and doesn't have default value)`,
      );
    }
    key[name] = value;
  }
  return `k:${JSON.stringify(key)}`;
}

/** Items by path element, in the order of the list. */
export function groupItems(type: AssociativeList, value: unknown): Map<string, unknown[]> {
  const groups = new Map<string, unknown[]>();
  for (const item of itemsOf(value)) {
    const element = elementOf(type, item);
    const group = groups.get(element);
    if (group) group.push(item);
    else groups.set(element, [item]);
  }
  return groups;
}

/** Type of the items of a list. */
export function itemType(type: AssociativeList): MergeType {
  return type.kind === "set" ? { kind: "leaf" } : type.items;
}
