import { resources } from "../../api/resources.ts";
import { enumOf } from "../../api/schema/enums.ts";
import type { Descriptions } from "../../api/schema/load-descriptions.ts";
import { isAtomicDefinition, type MergeRule, mergeRuleOf } from "../../api/schema/merge-keys.ts";
import {
  type Definition,
  definitionOf,
  type FieldType,
  type GroupVersionKind,
  parseType,
  type Scalar,
} from "../../api/schema/schema.ts";
import { type Dialect, type Schema, scalarSchemas } from "./json-schema.ts";
import { fallbackDescription, overridingDescription } from "./own-descriptions.ts";

/** `core.v1.Pod` is upstream's `io.k8s.api.core.v1.Pod`. */
export function openApiName(definition: string): string {
  if (definition === "patch") return "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
  return `${definition.startsWith("meta.") ? "io.k8s.apimachinery.pkg.apis." : "io.k8s.api."}${definition}`;
}

const patchSchema: Schema = {
  type: "object",
  description: "A patch, in the form that its content type says.",
};

/** Schemas of these definitions and of all that they refer to, by upstream's names. */
export function buildSchemas(
  definitions: Iterable<string>,
  { dialect, descriptions }: { dialect: Dialect; descriptions: Descriptions },
): Record<string, Schema> {
  const schemas = new Map<string, Schema>();
  const queue = [...definitions];
  // The array grows while it is walked.
  for (const name of queue) {
    if (schemas.has(openApiName(name))) continue;
    schemas.set(openApiName(name), name === "patch" ? patchSchema : structSchema(name));
  }
  return Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)));

  function structSchema(name: string): Schema {
    const definition = definitionOf(name);
    const about = descriptions[name] ?? {};
    const properties = Object.entries(definition.fields).map(([field, text]): [string, Schema] => {
      const type = parseType(text);
      const schema = withEnum(schemaOf(type), dialect.enums ? enumOf(name, field) : undefined);
      const description =
        overridingDescription(name, field) ??
        about[field] ??
        fallbackDescription(field) ??
        descriptionOfType(type);
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
        return scalarSchema(type.scalar);
    }
  }

  function scalarSchema(scalar: Scalar): Schema {
    const { definition, schema } = scalarSchemas[scalar];
    if (!definition) return schema(dialect);
    schemas.set(definition, schema(dialect));
    return dialect.refTo(definition);
  }

  /** Fields that refer to a definition are described there, if nowhere else. */
  function descriptionOfType(type: FieldType): string | undefined {
    return type.kind === "struct" ? descriptions[type.definition]?.[""] : undefined;
  }
}

/** In a list or a map it is the items that take these values. */
function withEnum(schema: Schema, values: readonly string[] | undefined): Schema {
  if (!values) return schema;
  if (schema.items) return { ...schema, items: withEnum(schema.items, values) };
  const { additionalProperties } = schema;
  if (additionalProperties)
    return { ...schema, additionalProperties: withEnum(additionalProperties, values) };
  return { ...schema, enum: values };
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

function groupVersionKinds(name: string, { kind }: Definition): Schema {
  if (kind) return { "x-kubernetes-group-version-kind": [kind] };
  if (name === "meta.v1.Status") return { "x-kubernetes-group-version-kind": [coreKind("Status")] };
  if (name !== "meta.v1.DeleteOptions") return {};
  // Every group version has delete options of its own.
  const own = resources.map(({ group, version }) => ({ ...coreKind("DeleteOptions"), group, version }));
  const unique = new Map(own.map((entry) => [`${entry.group}/${entry.version}`, entry]));
  return { "x-kubernetes-group-version-kind": [...unique.values()] };
}

function coreKind(kind: string): GroupVersionKind {
  return { group: "", version: "v1", kind };
}
