import type { JsonObject } from "../../schema/json-object.ts";
import { type FieldType, parseType, type Schema } from "../../schema/schema.ts";

/** MergeType says how server-side apply merges a value. */
export type MergeType =
  /** One value with one owner: scalars, and lists, maps and structs that are atomic. */
  | { readonly kind: "leaf" }
  /** List of scalars without duplicates. */
  | { readonly kind: "set" }
  /** List of objects that their keys identify. */
  | { readonly kind: "listMap"; readonly keys: readonly ListKey[]; readonly items: MergeType }
  | { readonly kind: "map"; readonly values: MergeType }
  | {
      readonly kind: "struct";
      readonly fields: ReadonlyMap<string, MergeType>;
      /** Value of the struct before a client has set anything, as upstream's Go type has it. */
      readonly zero: JsonObject;
    }
  /** JSON without a schema: objects are merged by field, lists are atomic. */
  | { readonly kind: "deduced" };

interface ListKey {
  readonly name: string;
  /** Value of an item that does not have the key. Undefined if the key is required. */
  readonly default: unknown;
}

const leaf: MergeType = { kind: "leaf" };
const deduced: MergeType = { kind: "deduced" };
const emptyStruct: JsonObject = Object.freeze({});

const typesOfSchema = new WeakMap<Schema, Map<string, MergeType>>();

/** Returns the merge type of a definition. Types are created once for each schema. */
export function mergeTypeOf(schema: Schema, definition: string): MergeType {
  let types = typesOfSchema.get(schema);
  if (!types) {
    types = new Map();
    typesOfSchema.set(schema, types);
  }
  return types.get(definition) ?? createStruct(schema, definition, types);
}

function createStruct(schema: Schema, definition: string, types: Map<string, MergeType>): MergeType {
  if (schema.isAtomic(definition)) {
    types.set(definition, leaf);
    return leaf;
  }
  return createGranularStruct(schema, definition, types);
}

function createGranularStruct(schema: Schema, definition: string, types: Map<string, MergeType>): MergeType {
  const fields = new Map<string, MergeType>();
  const zero: JsonObject = {};
  const struct: MergeType = { kind: "struct", fields, zero };
  // Set before the fields are resolved: a definition may contain itself.
  if (!schema.isAtomic(definition)) types.set(definition, struct);
  const { fields: texts, kept = [], required = [] } = schema.definition(definition);
  for (const [name, text] of Object.entries(texts)) {
    const type = parseType(text);
    const resolved = fieldType(schema, { definition, name, type }, types);
    fields.set(name, resolved);
    if (type.kind === "struct" && kept.includes(name)) {
      zero[name] = resolved.kind === "struct" ? resolved.zero : emptyStruct;
    } else if (required.includes(name) && type.kind !== "struct") {
      zero[name] = zeroOf(type);
    }
  }
  return struct;
}

function zeroOf(type: FieldType): unknown {
  if (type.kind !== "scalar") return null;
  switch (type.scalar) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "double":
      return 0;
    default:
      return null;
  }
}

function fieldType(
  schema: Schema,
  field: { definition: string; name: string; type: FieldType },
  types: Map<string, MergeType>,
): MergeType {
  const { definition, name, type } = field;
  const rule = schema.mergeRule(definition, name);
  const resolve = (nested: FieldType): MergeType => {
    switch (nested.kind) {
      case "scalar":
        return nested.scalar === "json" && schema.decode ? deduced : leaf;
      case "struct":
        return types.get(nested.definition) ?? createStruct(schema, nested.definition, types);
      case "map":
        return { kind: "map", values: resolve(nested.values) };
      case "list":
        // Lists in lists and maps have no rule.
        return leaf;
    }
  };
  switch (type.kind) {
    case "scalar":
      // JSON without a schema is one value in a built-in kind, and merged by field in a custom resource.
      return type.scalar === "json" && schema.decode ? deduced : leaf;
    case "struct":
      if (rule.mapType === "atomic") return leaf;
      if (rule.mapType === "granular" && schema.isAtomic(type.definition)) {
        return createGranularStruct(schema, type.definition, types);
      }
      return resolve(type);
    case "map":
      return rule.mapType === "atomic" ? leaf : resolve(type);
    case "list": {
      if (rule.listType === "set") return { kind: "set" };
      if (rule.listType !== "map") return leaf;
      const { listMapKeys = [], listMapKeyDefaults = {} } = rule;
      const keys = [...listMapKeys].sort().map((key) => ({ name: key, default: listMapKeyDefaults[key] }));
      return { kind: "listMap", keys, items: resolve(type.items) };
    }
  }
}

/** Type of a value without a schema. */
export function deduceType(value: unknown): Exclude<MergeType, { kind: "deduced" }> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { kind: "map", values: deduced }
    : { kind: "leaf" };
}
