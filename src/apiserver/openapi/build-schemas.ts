import { resources } from "../../api/resources.ts";
import type { Descriptions } from "../../api/schema/load-descriptions.ts";
import { isAtomicDefinition, type MergeRule, mergeRuleOf } from "../../api/schema/merge-keys.ts";
import {
  type Definition,
  definitionOf,
  type FieldType,
  parseType,
  type Scalar,
} from "../../api/schema/schema.ts";

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
  [extension: `x-kubernetes-${string}`]: unknown;
}

/** How one version of OpenAPI writes what the other writes differently. */
export interface Dialect {
  refTo(name: string): Schema;
  /** A reference that has a description beside it. */
  describedRef(ref: Schema): Schema;
  readonly intOrString: Schema;
  readonly quantity: Schema;
}

/** Scalars that have a definition of their own, under these names. */
const scalarDefinitions: Partial<Record<Scalar, string>> = {
  time: "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
  microTime: "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
  quantity: "io.k8s.apimachinery.pkg.api.resource.Quantity",
  intOrString: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
  json: "io.k8s.apimachinery.pkg.runtime.RawExtension",
};

const plainScalars: Partial<Record<Scalar, Schema>> = {
  string: { type: "string" },
  bool: { type: "boolean" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  double: { type: "number", format: "double" },
  bytes: { type: "string", format: "byte" },
};

export const patchName = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/** `core.v1.Pod` is upstream's `io.k8s.api.core.v1.Pod`. */
export function openApiName(definition: string): string {
  return `${definition.startsWith("meta.") ? "io.k8s.apimachinery.pkg.apis." : "io.k8s.api."}${definition}`;
}

/** Schemas of these definitions and of all that they refer to, by upstream's names. */
export function buildSchemas(
  definitions: Iterable<string>,
  { dialect, descriptions }: { dialect: Dialect; descriptions: Descriptions },
): Record<string, Schema> {
  const schemas = new Map<string, Schema>([
    [patchName, { type: "object", description: "A patch, in the form that the content type says." }],
  ]);
  const queue = [...definitions];
  // The array grows while it is walked.
  for (const name of queue) {
    if (schemas.has(openApiName(name))) continue;
    schemas.set(openApiName(name), structSchema(name));
  }
  return Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)));

  function structSchema(name: string): Schema {
    const definition = definitionOf(name);
    const about = descriptions[name] ?? {};
    const properties = Object.entries(definition.fields).map(([field, text]): [string, Schema] => {
      const type = parseType(text);
      const schema = schemaOf(type);
      const description = about[field] ?? descriptionOfType(type);
      const described = schema.$ref ? dialect.describedRef(schema) : schema;
      return [
        field,
        { ...(description && { description }), ...described, ...extensions(mergeRuleOf(name, field)) },
      ];
    });
    return {
      ...(about[""] && { description: about[""] }),
      type: "object",
      properties: Object.fromEntries(properties),
      ...(definition.required && { required: definition.required }),
      ...(isAtomicDefinition(name) && { "x-kubernetes-map-type": "atomic" }),
      ...groupVersionKinds(name, definition),
    };
  }

  function schemaOf(type: FieldType): Schema {
    switch (type.kind) {
      case "list":
        return { type: "array", items: schemaOf(type.items) };
      case "map":
        return { type: "object", additionalProperties: schemaOf(type.values) };
      case "struct":
        queue.push(type.definition);
        return dialect.refTo(openApiName(type.definition));
      case "scalar":
        return plainScalars[type.scalar] ?? namedScalar(type.scalar);
    }
  }

  function namedScalar(scalar: Scalar): Schema {
    const name = scalarDefinitions[scalar] ?? scalar;
    schemas.set(name, scalarSchema(scalar, dialect));
    return dialect.refTo(name);
  }

  /** Fields that refer to a definition are described there, if nowhere else. */
  function descriptionOfType(type: FieldType): string | undefined {
    return type.kind === "struct" ? descriptions[type.definition]?.[""] : undefined;
  }
}

function scalarSchema(scalar: Scalar, dialect: Dialect): Schema {
  switch (scalar) {
    case "time":
      return {
        type: "string",
        format: "date-time",
        description: "A time in RFC 3339 form, in whole seconds.",
      };
    case "microTime":
      return {
        type: "string",
        format: "date-time",
        description: "A time in RFC 3339 form, in microseconds.",
      };
    case "quantity":
      return { description: "A number with a unit, such as 500m, 1.5 or 2Gi.", ...dialect.quantity };
    case "intOrString":
      return { description: "A number, or a string such as a name or a percentage.", ...dialect.intOrString };
    default:
      return { type: "object", description: "Any JSON." };
  }
}

function extensions(rule: MergeRule): Schema {
  return {
    ...(rule.listMapKeys && { "x-kubernetes-list-map-keys": rule.listMapKeys }),
    ...(rule.listType && { "x-kubernetes-list-type": rule.listType }),
    ...(rule.mapType && { "x-kubernetes-map-type": rule.mapType }),
    ...(rule.patchMergeKey && { "x-kubernetes-patch-merge-key": rule.patchMergeKey }),
    ...(rule.patchStrategy && { "x-kubernetes-patch-strategy": rule.patchStrategy.join(",") }),
  };
}

/** Kinds that every group version has, and kinds of one. */
function groupVersionKinds(name: string, { kind, fields }: Definition): Schema {
  if (kind) return { "x-kubernetes-group-version-kind": [kind] };
  if (!fields.kind || !fields.apiVersion) return {};
  const own = { group: "", version: "v1", kind: name.slice(name.lastIndexOf(".") + 1) };
  const served =
    name === "meta.v1.DeleteOptions"
      ? resources.map(({ group, version }) => ({ ...own, group, version }))
      : [];
  const unique = new Map([own, ...served].map((entry) => [`${entry.group}/${entry.version}`, entry]));
  return { "x-kubernetes-group-version-kind": [...unique.values()] };
}
