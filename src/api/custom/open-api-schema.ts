/** Schema of a custom resource: the OpenAPI v3 subset that a CustomResourceDefinition contains. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly $schema?: string;
  readonly id?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly externalDocs?: object;
  readonly enum?: readonly unknown[];
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly multipleOf?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly required?: readonly string[];
  /** An array of schemas is rejected when the definition is validated. */
  readonly items?: OpenApiSchema | readonly OpenApiSchema[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly allOf?: readonly OpenApiSchema[];
  readonly anyOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly not?: OpenApiSchema;
  readonly additionalItems?: OpenApiSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, OpenApiSchema>>;
  readonly definitions?: Readonly<Record<string, OpenApiSchema>>;
  readonly dependencies?: Readonly<Record<string, unknown>>;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

/** CEL rule of a schema. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** Schema of the items of a list. Undefined without one schema for all items. */
export function itemsOf({ items }: OpenApiSchema): OpenApiSchema | undefined {
  return items === undefined || Array.isArray(items) ? undefined : (items as OpenApiSchema);
}

/** Schema of one property. Properties come from definitions, keys from requests. */
export function propertyOf({ properties }: OpenApiSchema, key: string): OpenApiSchema | undefined {
  return properties && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** Schema of additional properties. Undefined also for `additionalProperties: true`. */
export function additionalOf({ additionalProperties }: OpenApiSchema): OpenApiSchema | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** Schema of a field: its property or the additional properties. */
export function fieldSchema(schema: OpenApiSchema, key: string): OpenApiSchema | undefined {
  return propertyOf(schema, key) ?? additionalOf(schema);
}

/** All schemas in a schema, itself first. */
export function* schemasIn(schema: OpenApiSchema): Generator<OpenApiSchema> {
  yield schema;
  const { items, additionalProperties, additionalItems, not } = schema;
  const nested = [
    ...(Array.isArray(items) ? items : [items as OpenApiSchema | undefined]),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    not,
    ...Object.values(schema.properties ?? {}),
    additionalProperties,
    ...Object.values(schema.patternProperties ?? {}),
    additionalItems,
    ...Object.values(schema.definitions ?? {}),
  ];
  for (const child of nested) if (typeof child === "object" && child !== null) yield* schemasIn(child);
}

/** Fields of every object, which the schema of a resource does not describe. */
export const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

export function isEmbeddedResource(schema: OpenApiSchema): boolean {
  return schema["x-kubernetes-embedded-resource"] === true;
}

export function preservesUnknownFields(schema: OpenApiSchema): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

export function isIntOrString(schema: OpenApiSchema): boolean {
  return schema["x-kubernetes-int-or-string"] === true;
}

/** Whether a schema or one of the schemas in it has CEL rules. */
export function hasRules(schema: OpenApiSchema): boolean {
  for (const part of schemasIn(schema)) if (part["x-kubernetes-validations"]?.length) return true;
  return false;
}
