import { isEqual } from "../../meta/is-equal.ts";
import { isJsonObject, type JsonObject } from "../../schema/json-object.ts";
import { emptyFieldSet, type FieldSet, FieldSetBuilder, isMember } from "./field-set.ts";
import { elementOf, groupItems, itemsOf, itemType } from "./list-items.ts";
import { deduceType, type MergeType } from "./merge-type.ts";

/** Paths that differ between two objects. No path is in more than one of the sets. */
export interface Comparison {
  readonly added: FieldSet;
  readonly removed: FieldSet;
  readonly modified: FieldSet;
}

/** Compares two objects of a type. Does not read the fields in `excluded`. */
export function compareObjects(
  type: MergeType,
  before: unknown,
  after: unknown,
  excluded: FieldSet = emptyFieldSet,
): Comparison {
  const walk = new ComparingWalk();
  walk.compare(type, before, after, excluded);
  const { added, removed, modified } = walk;
  return { added: added.set, removed: removed.set, modified: modified.set };
}

/** Undefined stands for a value that is absent. */
class ComparingWalk {
  readonly added = new FieldSetBuilder();
  readonly removed = new FieldSetBuilder();
  readonly modified = new FieldSetBuilder();
  readonly #path: string[] = [];

  compare(type: MergeType, before: unknown, after: unknown, excluded: FieldSet): void {
    if (type.kind === "deduced") {
      this.#compareDeduced(before, after);
      return;
    }
    if (before === undefined) {
      if (after !== undefined) this.added.insertNode(this.#path, allPaths(type, after, excluded));
      return;
    }
    if (after === undefined) {
      this.removed.insertNode(this.#path, allPaths(type, before, excluded));
      return;
    }
    // Two empty values are compared as leaves, which keeps the difference between null and empty.
    if (type.kind === "leaf" || (isEmpty(before) && isEmpty(after))) {
      this.#compareLeaf(before, after);
      return;
    }
    switch (type.kind) {
      case "struct":
        this.#compareFields(before, after, excluded, (name) => type.fields.get(name) ?? { kind: "deduced" });
        break;
      case "map":
        this.#compareFields(before, after, excluded, () => type.values);
        break;
      default:
        if (!isSameList(type, before, after)) this.#compareItems(type, before, after);
    }
  }

  #compareLeaf(before: unknown, after: unknown): void {
    if ((before === null) !== (after === null) || !isEqual(before, after)) this.modified.insert(this.#path);
  }

  #compareDeduced(before: unknown, after: unknown): void {
    const beforeType = deduceType(before ?? after);
    const afterType = deduceType(after ?? before);
    if (beforeType.kind === afterType.kind) {
      this.compare(afterType, before, after, emptyFieldSet);
      return;
    }
    this.modified.insert(this.#path);
    const [removed, added] = beforeType.kind === "map" ? [before, undefined] : [undefined, after];
    const values = (): MergeType => ({ kind: "deduced" });
    this.#compareFields(removed, added, emptyFieldSet, values);
  }

  #compareFields(
    before: unknown,
    after: unknown,
    excluded: FieldSet,
    typeOf: (name: string) => MergeType,
  ): void {
    const left = isJsonObject(before) ? before : {};
    const right = isJsonObject(after) ? after : {};
    const visit = (name: string) => {
      const element = `f:${name}`;
      const exclude = excluded[element];
      if (isMember(exclude)) return;
      const [leftValue, rightValue] = [left[name], right[name]];
      if (leftValue === undefined && rightValue === undefined) return;
      this.#path.push(element);
      this.compare(typeOf(name), leftValue, rightValue, exclude ?? emptyFieldSet);
      this.#path.pop();
    };
    for (const name in left) visit(name);
    for (const name in right) if (!Object.hasOwn(left, name)) visit(name);
  }

  #compareItems(
    type: Extract<MergeType, { kind: "set" | "listMap" }>,
    before: unknown,
    after: unknown,
  ): void {
    const left = groupItems(type, before);
    const right = groupItems(type, after);
    for (const element of new Set([...left.keys(), ...right.keys()])) {
      this.#path.push(element);
      this.#compareGroups(itemType(type), left.get(element) ?? [], right.get(element) ?? []);
      this.#path.pop();
    }
  }

  /** Items with the same key are compared as one value. */
  #compareGroups(type: MergeType, before: readonly unknown[], after: readonly unknown[]): void {
    if (before.length <= 1 && after.length <= 1) {
      this.compare(type, before[0], after[0], emptyFieldSet);
    } else if (before.length >= 2 && after.length >= 2) {
      if (!isEqual(before, after)) this.modified.insert(this.#path);
    } else if (before.length >= 2) {
      if (after.length === 1) this.compare(type, undefined, after[0], emptyFieldSet);
      this.removed.insert(this.#path);
    } else {
      if (before.length === 1) this.compare(type, before[0], undefined, emptyFieldSet);
      this.added.insert(this.#path);
    }
  }
}

/** Whether two lists of objects with keys are equal, so that the path elements of their items are not needed. */
function isSameList(type: MergeType, before: unknown, after: unknown): boolean {
  if (type.kind !== "listMap" || !isEqual(before, after)) return false;
  const hasKeys = (item: unknown) =>
    isJsonObject(item) && type.keys.every(({ name, default: value }) => (item[name] ?? value) !== undefined);
  return itemsOf(before).every(hasKeys);
}

/** Node with all paths of a value that exists on one side only, in the order of `sortFieldSet` except for items. */
function allPaths(type: MergeType, value: unknown, excluded: FieldSet): FieldSet {
  const known = type.kind === "deduced" ? deduceType(value) : type;
  if (known.kind === "leaf" || isEmpty(value)) return emptyFieldSet;
  const node: Record<string, FieldSet> = { ".": emptyFieldSet };
  if (known.kind === "struct" || known.kind === "map") {
    const fields = isJsonObject(value) ? value : {};
    for (const name of Object.keys(fields).sort()) {
      const element = `f:${name}`;
      const exclude = excluded[element];
      if (fields[name] === undefined || isMember(exclude)) continue;
      const fieldType = known.kind === "map" ? known.values : (known.fields.get(name) ?? { kind: "deduced" });
      node[element] = allPaths(fieldType, fields[name], exclude ?? emptyFieldSet);
    }
  } else {
    for (const [element, items] of groupItems(known, value)) {
      node[element] = items.length === 1 ? allPaths(itemType(known), items[0], emptyFieldSet) : emptyFieldSet;
    }
  }
  return node;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isJsonObject(value)) return false;
  for (const name in value) if (value[name] !== undefined) return false;
  return true;
}

/** Returns all paths of an object. */
export function fieldSetOf(type: MergeType, object: unknown): FieldSet {
  const builder = new FieldSetBuilder();
  const path: string[] = [];
  const visit = (valueType: MergeType, value: unknown): void => {
    const known = valueType.kind === "deduced" ? deduceType(value) : valueType;
    switch (known.kind) {
      case "leaf":
        builder.insert(path);
        break;
      case "struct":
      case "map":
        if (isJsonObject(value)) visitFields(known, value);
        break;
      default:
        for (const item of itemsOf(value)) {
          path.push(elementOf(known, item));
          visit(itemType(known), item);
          builder.insert(path);
          path.pop();
        }
    }
  };
  const visitFields = (type: Extract<MergeType, { kind: "struct" | "map" }>, value: JsonObject) => {
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      const named = type.kind === "struct" ? type.fields.get(name) : undefined;
      path.push(`f:${name}`);
      visit(named ?? (type.kind === "map" ? type.values : { kind: "deduced" }), field);
      const isEmptyObject = field === null || (isJsonObject(field) && isEmpty(field));
      if (isEmptyObject || !named) builder.insert(path);
      path.pop();
    }
  };
  visit(type, object);
  return builder.set;
}
