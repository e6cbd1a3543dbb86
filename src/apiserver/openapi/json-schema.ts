import type { Scalar } from "../../api/schema/schema.ts";

/** A JSON schema, as far as both versions of OpenAPI use one. */
export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  oneOf?: Schema[];
  type?: string;
  format?: string;
  description?: string;
  required?: readonly string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  enum?: readonly string[];
  [extension: `x-kubernetes-${string}`]: unknown;
}

/** How one version of OpenAPI writes what the other writes differently. */
export interface Dialect {
  refTo(name: string): Schema;
  /** A reference that has a description beside it. */
  describedRef(ref: Schema): Schema;
  /** Whether it says which values a field takes. */
  readonly enums: boolean;
  /** What may be a string or a number. */
  readonly unions: { readonly quantity: Schema; readonly intOrString: Schema };
}

interface ScalarSchema {
  /** The definition that fields refer to; where there is none, the schema stands in the field. */
  readonly definition?: string;
  schema(dialect: Dialect): Schema;
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
