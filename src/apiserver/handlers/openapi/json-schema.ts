import type { Scalar } from "../../../api/schema/schema.ts";

/** JSON schema with the fields that OpenAPI documents use. */
export interface JsonSchema {
  $ref?: string;
  allOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  type?: string;
  format?: string;
  description?: string;
  required?: readonly string[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  additionalProperties?: JsonSchema;
  enum?: readonly string[];
  [extension: `x-kubernetes-${string}`]: unknown;
}

/** Differences between the OpenAPI versions. */
export interface Dialect {
  refTo(name: string): JsonSchema;
  /** Returns a reference with a description. */
  describedRef(ref: JsonSchema): JsonSchema;
  /** Form of the schema of a custom resource in this version. Undefined if it can only be an object with any fields. */
  custom(schema: JsonSchema): JsonSchema | undefined;
  /** Whether enums are included. */
  readonly enums: boolean;
  /** Schemas of values that are strings or numbers. */
  readonly unions: { readonly quantity: JsonSchema; readonly intOrString: JsonSchema };
}

interface ScalarSchema {
  /** Name of the definition to which fields refer. Without a name, the schema is inlined. */
  readonly definition?: string;
  schema(dialect: Dialect): JsonSchema;
}

export const scalarSchemas: Readonly<Record<Scalar, ScalarSchema>> = {
  string: { schema: () => ({ type: "string" }) },
  bool: { schema: () => ({ type: "boolean" }) },
  int32: { schema: () => ({ type: "integer", format: "int32" }) },
  int64: { schema: () => ({ type: "integer", format: "int64" }) },
  double: { schema: () => ({ type: "number", format: "double" }) },
  bytes: { schema: () => ({ type: "string", format: "byte" }) },
  time: {
    definition: "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    schema: () => ({ type: "string", format: "date-time", description: "A time, in whole seconds." }),
  },
  microTime: {
    definition: "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    schema: () => ({ type: "string", format: "date-time", description: "A time, in microseconds." }),
  },
  quantity: {
    definition: "io.k8s.apimachinery.pkg.api.resource.Quantity",
    schema: ({ unions }) => ({ description: "A number with a unit: 500m, 1.5, 2Gi.", ...unions.quantity }),
  },
  intOrString: {
    definition: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    schema: ({ unions }) => ({ description: "A number, a name or a percentage.", ...unions.intOrString }),
  },
  fieldsV1: {
    definition: "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    schema: () => ({ type: "object", description: "A set of fields, as a tree of their names." }),
  },
  json: {
    definition: "io.k8s.apimachinery.pkg.runtime.RawExtension",
    schema: () => ({ type: "object", description: "Any JSON." }),
  },
};
