import schemaJson from "../generated/schema.json" with { type: "json" };

/** What one definition of the API looks like. Names are `core.v1.Pod`, `meta.v1.ObjectMeta`. */
export interface Definition {
  /** Types by JSON name, in the small language that `parseType` reads. */
  readonly fields: Readonly<Record<string, string>>;
  readonly required?: readonly string[];
  /** Fields that are written even when empty; of these, the ones that are structs are always there. */
  readonly kept?: readonly string[];
  /** Only for what is a kind by itself. */
  readonly kind?: GroupVersionKind;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const scalars = [
  "string",
  "bool",
  "int32",
  "int64",
  "double",
  "time",
  "microTime",
  "bytes",
  "quantity",
  "intOrString",
  "json",
  "fieldsV1",
] as const;

export type Scalar = (typeof scalars)[number];

export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: Scalar }
  | { readonly kind: "list"; readonly items: FieldType }
  | { readonly kind: "map"; readonly values: FieldType }
  | { readonly kind: "struct"; readonly definition: string };

const definitions: Readonly<Record<string, Definition>> = schemaJson;
const scalarTypes = new Map<string, FieldType>(
  scalars.map((scalar) => [scalar, { kind: "scalar", scalar }] as const),
);

export const definitionNames: readonly string[] = Object.keys(definitions);

/** Throws on a name that is not in the schema: names come from our own tables, never from a request. */
export function definitionOf(name: string): Definition {
  const definition = hasDefinition(name) ? definitions[name] : undefined;
  if (!definition) throw new Error(`no definition ${name} in the schema`);
  return definition;
}

export function hasDefinition(name: string): boolean {
  return Object.hasOwn(definitions, name);
}

/** `core.v1.Pod` for the kind of a row in the resources table. */
export function definitionName({ group, version, kind }: GroupVersionKind): string {
  return `${group.split(".")[0] || "core"}.${version}.${kind}`;
}

/** Reads `string`, `[]T`, `{}T` and the names of definitions. */
export function parseType(text: string): FieldType {
  if (text.startsWith("[]")) return { kind: "list", items: parseType(text.slice(2)) };
  if (text.startsWith("{}")) return { kind: "map", values: parseType(text.slice(2)) };
  return scalarTypes.get(text) ?? { kind: "struct", definition: text };
}
