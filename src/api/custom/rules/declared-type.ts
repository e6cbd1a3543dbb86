import type { EstimateSize, StructProvider } from "../../cel/environment.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  type Type,
  timestampType,
} from "../../cel/type.ts";
import {
  additionalOf,
  isEmbeddedResource,
  isIntOrString,
  itemsOf,
  type OpenApiSchema,
  propertyOf,
} from "../open-api-schema.ts";
import { escapeName } from "./escape-name.ts";

/** Type that a schema has in expressions, with the sizes from which costs are estimated. */
export interface DeclaredType {
  readonly type: Type;
  /** Largest number of items, properties or characters. */
  readonly maxElements: number;
  /** Size in bytes of the smallest value as JSON. */
  readonly minSize: number;
  readonly element?: DeclaredType;
  /** Fields by their escaped names. */
  readonly fields?: ReadonlyMap<string, DeclaredType>;
}

/** Size of the largest request, from which the number of items without a limit is estimated. */
export const maxRequestBytes = 3 * 1024 * 1024;
const maxText = maxRequestBytes - 2;

/** Adds the fields of every object to the schema of a resource. */
export function withObjectMeta(schema: OpenApiSchema): OpenApiSchema {
  const text = { type: "string" };
  const metadata = propertyOf(schema, "metadata");
  const names = [metadata && propertyOf(metadata, "name"), metadata && propertyOf(metadata, "generateName")];
  const isComplete =
    [propertyOf(schema, "kind"), propertyOf(schema, "apiVersion"), ...names].every(
      (field) => field?.type === "string",
    ) && metadata?.type === "object";
  if (isComplete) return schema;
  const added = {
    kind: text,
    apiVersion: text,
    metadata: { type: "object", properties: { name: text, generateName: text } },
  };
  return { ...schema, properties: { ...schema.properties, ...added } };
}

/** Type of a schema below `name`. Undefined if expressions cannot use its values, as those of unknown fields. */
export function declareType(
  given: OpenApiSchema,
  name: string,
  isResourceRoot: boolean,
): DeclaredType | undefined {
  if (isIntOrString(given)) {
    return { type: dynType, minSize: 1, maxElements: maxLengthOf(given) ?? maxText };
  }
  const schema = isResourceRoot ? withObjectMeta(given) : given;
  switch (schema.type) {
    case "array": {
      const items = itemsOf(schema);
      const element = items && declareType(items, `${name}.@idx`, isEmbeddedResource(items));
      if (!element) return undefined;
      const max = schema.maxItems ?? Math.floor(maxText / (element.minSize + 1));
      return { type: listType(element.type), element, maxElements: Math.max(0, max), minSize: 2 };
    }
    case "object":
      return declareObject(schema, name);
    case "string":
      return declareString(schema);
    case "boolean":
      return { type: boolType, maxElements: 0, minSize: 4 };
    case "number":
      return { type: doubleType, maxElements: 0, minSize: 1 };
    case "integer":
      return { type: intType, maxElements: 0, minSize: 1 };
    default:
      return undefined;
  }
}

function declareObject(schema: OpenApiSchema, name: string): DeclaredType | undefined {
  const additional = additionalOf(schema);
  if (additional) {
    const element = declareType(additional, `${name}.@elem`, isEmbeddedResource(additional));
    if (!element) return undefined;
    // A key, its quotes, a colon and a comma.
    const max = schema.maxProperties ?? Math.floor(maxText / (element.minSize + 6));
    return { type: mapType(stringType, element.type), element, maxElements: Math.max(0, max), minSize: 2 };
  }
  const fields = new Map<string, DeclaredType>();
  let minSize = 2;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeName(key);
    const field = declareType(property, `${name}.${escaped ?? key}`, isEmbeddedResource(property));
    if (!field) continue;
    if (escaped !== undefined) fields.set(escaped, field);
    const hasDefault = property.default !== undefined && property.default !== null;
    if (schema.required?.includes(key) && !hasDefault) minSize += Buffer.byteLength(key) + field.minSize + 4;
  }
  return { type: structType(name), fields, maxElements: 0, minSize };
}

/** Characters have up to four bytes. */
function maxLengthOf({ maxLength }: OpenApiSchema): number | undefined {
  return maxLength === undefined ? undefined : Math.max(0, maxLength) * 4;
}

function declareString(schema: OpenApiSchema): DeclaredType {
  switch (schema.format) {
    case "byte":
      return { type: bytesType, minSize: 2, maxElements: Math.max(0, schema.maxLength ?? maxText) };
    case "duration":
      return { type: durationType, minSize: 3, maxElements: 32 };
    case "date":
      return { type: timestampType, minSize: 12, maxElements: 12 };
    case "date-time":
      return { type: timestampType, minSize: 21, maxElements: 32 };
    default: {
      const values = (schema.enum ?? []).filter((value) => typeof value === "string");
      const longest = values.reduce((max, value) => Math.max(max, Buffer.byteLength(value)), 0);
      const estimated = schema.enum?.length ? longest : maxText;
      return { type: stringType, minSize: 2, maxElements: maxLengthOf(schema) ?? estimated };
    }
  }
}

/** Fields of the objects in a type. */
export function structsOf(root: DeclaredType): StructProvider {
  const structs = new Map<string, DeclaredType>();
  const collect = (declared: DeclaredType): void => {
    if (declared.fields) structs.set(declared.type.name, declared);
    for (const field of declared.fields?.values() ?? []) collect(field);
    if (declared.element) collect(declared.element);
  };
  collect(root);
  return {
    has: (name) => structs.has(name),
    fieldType: (name, field) => structs.get(name)?.fields?.get(field)?.type,
  };
}

/** Sizes of the parts of a type. The first name of a path is the variable. */
export function sizesOf(root: DeclaredType): EstimateSize {
  return ([, ...path]) => {
    let declared: DeclaredType | undefined = root;
    for (const name of path) {
      if (name === "@items" || name === "@values") declared = declared?.element;
      else if (name === "@keys") return declared?.type.kind === "map" ? { min: 0n, max: 0n } : undefined;
      else declared = declared?.fields?.get(name);
      if (!declared) return undefined;
    }
    return declared && { min: 0n, max: BigInt(Math.trunc(declared.maxElements)) };
  };
}
