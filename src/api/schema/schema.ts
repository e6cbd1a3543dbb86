/** One definition of the API. Names are `core.v1.Pod`, `meta.v1.ObjectMeta`. */
export interface Definition {
  /** Types by JSON name, in the notation that `parseType` reads. */
  readonly fields: Readonly<Record<string, string>>;
  readonly required?: readonly string[];
  /** Fields that are written even when empty. Of these, structs are always present. */
  readonly kept?: readonly string[];
  /** Set for definitions that are kinds. */
  readonly kind?: GroupVersionKind;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** How patches and server-side apply treat one field. */
export interface MergeRule {
  readonly patchStrategy?: readonly PatchStrategy[];
  /** Field that identifies an item of the list. */
  readonly patchMergeKey?: string;
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  /** Values of keys that an item may omit. */
  readonly listMapKeyDefaults?: Readonly<Record<string, unknown>>;
  readonly mapType?: "atomic" | "granular";
}

type PatchStrategy = "merge" | "replace" | "retainKeys";

/** Field of a definition with its protobuf number: `["metadata", 1]`. `...core.v1.X` is an inlined message. */
export type FieldNumber = readonly [field: string, number: number];

/** Documentation of each definition (under the empty name) and of its fields. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The types of an API: what decoding, patching, protobuf and OpenAPI need to know about kinds. */
export interface Schema {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** Throws when the name is unknown. Names come from definitions and kinds, never from a request. */
  definition(name: string): Definition;
  mergeRule(definition: string, field: string): MergeRule;
  /** True when server-side apply treats values of the definition as one value. */
  isAtomic(definition: string): boolean;
  /** Values that a field accepts, or the items of a list or map. Undefined if all values are accepted. */
  enumOf(definition: string, field: string): readonly string[] | undefined;
  /** Protobuf numbers of a definition's fields. Undefined when the definition has no protobuf form. */
  fieldNumbers(definition: string): readonly FieldNumber[] | undefined;
  /** `io.k8s.api.core.v1.Pod` for `core.v1.Pod`. */
  openApiName(definition: string): string;
  loadDescriptions(): Promise<Descriptions>;
  /** Decodes an object of a custom resource. Undefined for definitions that are decoded by their fields. */
  decode?(definition: string, value: unknown): DecodedObject | undefined;
  /** OpenAPI schema of a custom resource, as its CustomResourceDefinition contains it. */
  openApiSchema?(definition: string): Readonly<Record<string, unknown>> | undefined;
}

export interface DecodedObject {
  /** Object that matches the definition. Shares only free-form JSON with the input. */
  readonly object: Readonly<Record<string, unknown>>;
  /** Paths of dropped fields that the definition does not have: `spec.containers[0].foo`. */
  readonly unknownFields: readonly string[];
}

export interface SchemaSource {
  readonly definitions: Readonly<Record<string, Definition>>;
  /** Rules by definition and field. Lists without a rule are atomic. */
  readonly mergeRules?: Readonly<Record<string, Readonly<Record<string, MergeRule>>>>;
  readonly atomicDefinitions?: ReadonlySet<string>;
  /** Comma-separated values by definition and field. */
  readonly enums?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  fieldNumbers?(definition: string): readonly FieldNumber[] | undefined;
  /** Default: the name of the definition. */
  openApiName?(definition: string): string;
  loadDescriptions?(): Promise<Descriptions>;
  /** Schema of the definitions that are not in this one, such as `meta.v1.ObjectMeta`. */
  readonly base?: Schema;
}

const noRule: MergeRule = {};
const atomicList: MergeRule = { listType: "atomic" };

export function createSchema(source: SchemaSource): Schema {
  const { mergeRules = {}, atomicDefinitions, enums = {}, base } = source;
  const definitions = base ? withLists(source.definitions) : source.definitions;
  const isOwn = (name: string) => Object.hasOwn(definitions, name);
  const schema: Schema = {
    names: [...(base?.names ?? []), ...Object.keys(definitions)],
    has: (name) => isOwn(name) || (base?.has(name) ?? false),
    definition(name) {
      const definition = isOwn(name) ? definitions[name] : base?.definition(name);
      if (!definition) throw new Error(`no definition ${name} in the schema`);
      return definition;
    },
    mergeRule(name, field) {
      if (base && !isOwn(name)) return base.mergeRule(name, field);
      const rule = mergeRules[name]?.[field];
      if (rule) return rule;
      const { fields, kind } = schema.definition(name);
      const isList = parseType(fields[field] ?? "json").kind === "list";
      // The items of a list of objects (`PodList`) have no list type.
      return isList && !(kind && field === "items") ? atomicList : noRule;
    },
    isAtomic: (name) => (isOwn(name) ? atomicDefinitions?.has(name) : base?.isAtomic(name)) ?? false,
    enumOf: (name, field) => enums[name]?.[field]?.split(",") ?? base?.enumOf(name, field),
    fieldNumbers: (name) => source.fieldNumbers?.(name) ?? base?.fieldNumbers(name),
    openApiName: (name) =>
      base && !isOwn(name) ? base.openApiName(name) : (source.openApiName?.(name) ?? name),
    async loadDescriptions() {
      const inherited = (await base?.loadDescriptions()) ?? {};
      // Not copied for each of many schemas that describe nothing.
      return source.loadDescriptions ? { ...inherited, ...(await source.loadDescriptions()) } : inherited;
    },
  };
  return schema;
}

/** Adds the definition of the list of each kind that has none. */
function withLists(definitions: SchemaSource["definitions"]): SchemaSource["definitions"] {
  const lists = Object.entries(definitions).flatMap(([name, { kind }]): [string, Definition][] => {
    if (!kind || kind.kind.endsWith("List") || Object.hasOwn(definitions, `${name}List`)) return [];
    const fields = { apiVersion: "string", items: `[]${name}`, kind: "string", metadata: "meta.v1.ListMeta" };
    return [[`${name}List`, { fields, required: ["items"], kind: { ...kind, kind: `${kind.kind}List` } }]];
  });
  return { ...definitions, ...Object.fromEntries(lists) };
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
  | {
      readonly kind: "struct";
      readonly definition: string;
      /** True when any JSON other than an object is accepted too (`additionalProperties: true`). */
      readonly loose?: true;
    };

const scalarTypes = new Map<string, FieldType>(
  scalars.map((scalar) => [scalar, { kind: "scalar", scalar }] as const),
);

/** Name of the definition of a kind: `core.v1.Pod`. */
export function definitionName({ group, version, kind }: GroupVersionKind): string {
  return `${group.split(".")[0] || "core"}.${version}.${kind}`;
}

/** Reads `string`, `[]T`, `{}T`, the names of definitions, and `?` before the name of a loose one. */
export function parseType(text: string): FieldType {
  if (text.startsWith("[]")) return { kind: "list", items: parseType(text.slice(2)) };
  if (text.startsWith("{}")) return { kind: "map", values: parseType(text.slice(2)) };
  if (text.startsWith("?")) return { kind: "struct", definition: text.slice(1), loose: true };
  return scalarTypes.get(text) ?? { kind: "struct", definition: text };
}
