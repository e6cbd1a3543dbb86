import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import {
  type Definition,
  type Descriptions,
  type FieldType,
  type GroupVersionKind,
  type MergeRule,
  parseType,
  type Scalar,
  type Schema,
} from "../../../api/schema/schema.ts";
import { type Dialect, type JsonSchema, scalarSchemas } from "./json-schema.ts";

/** A definition, and the schema that contains it. The definition `patch` stands for a patch of any type. */
export interface DefinitionRef {
  readonly schema: Schema;
  readonly definition: string;
}

/** Descriptions and definitions that documents need in addition to endpoints. */
export interface OpenApiSource {
  readonly kinds: readonly KindDefinition[];
  readonly descriptions: ReadonlyMap<Schema, Descriptions>;
}

/** `io.k8s.api.core.v1.Pod` */
export function openApiName({ schema, definition }: DefinitionRef): string {
  return definition === "patch"
    ? "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
    : schema.openApiName(definition);
}

const patchSchema: JsonSchema = {
  type: "object",
  description: "A patch, in the form that its content type says.",
};

/** JSON schemas of definitions and of everything they refer to, by OpenAPI name. */
export function buildSchemas(
  definitions: Iterable<DefinitionRef>,
  { dialect, source }: { dialect: Dialect; source: OpenApiSource },
): Record<string, JsonSchema> {
  const schemas = new Map<string, JsonSchema>();
  const queue = [...definitions];
  // The array grows while it is iterated.
  for (const ref of queue) {
    const name = openApiName(ref);
    if (schemas.has(name)) continue;
    schemas.set(name, ref.definition === "patch" ? patchSchema : structSchema(ref));
  }
  return Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)));

  function structSchema({ schema, definition: name }: DefinitionRef): JsonSchema {
    const custom = schema.openApiSchema?.(name);
    if (custom) return customSchema(schema, name, custom);
    const definition = schema.definition(name);
    const descriptions = source.descriptions.get(schema) ?? {};
    const about = descriptions[name] ?? {};
    const properties = Object.entries(definition.fields).map(([field, text]): [string, JsonSchema] => {
      const type = parseType(text);
      const values = dialect.enums ? schema.enumOf(name, field) : undefined;
      const property = withEnum(schemaOf(schema, type), values);
      // Fields that refer to a definition and have no description get that of the definition.
      const ofType = type.kind === "struct" ? descriptions[type.definition]?.[""] : undefined;
      const description =
        overridingDescription(name, field) ?? about[field] ?? fallbackDescription(field) ?? ofType;
      const described = property.$ref ? dialect.describedRef(property) : property;
      return [
        field,
        { ...(description && { description }), ...described, ...extensions(schema.mergeRule(name, field)) },
      ];
    });
    return {
      ...(about[""] && { description: about[""] }),
      type: "object",
      properties: Object.fromEntries(properties),
      ...(definition.required && { required: definition.required }),
      ...(schema.isAtomic(name) && { "x-kubernetes-map-type": "atomic" }),
      ...groupVersionKinds(name, definition, source.kinds),
    };
  }

  /** Schema of a custom resource with the fields that all objects have. */
  function customSchema(schema: Schema, name: string, custom: JsonSchema): JsonSchema {
    const kinds = { "x-kubernetes-group-version-kind": [schema.definition(name).kind] };
    const converted = dialect.custom(custom);
    if (!converted) return { type: "object", ...kinds };
    const { properties, ...rest } = converted;
    const meta = { schema: builtInSchema, definition: "meta.v1.ObjectMeta" };
    queue.push(meta);
    const metadata = dialect.describedRef(dialect.refTo(openApiName(meta)));
    const about = source.descriptions.get(schema)?.["core.v1.Pod"] ?? {};
    const text = (description: string | undefined): JsonSchema => ({
      ...(description && { description }),
      type: "string",
    });
    return {
      ...rest,
      type: "object",
      properties: {
        ...properties,
        apiVersion: text(about.apiVersion),
        kind: text(about.kind),
        metadata: { description: standardMetadata, ...metadata },
      },
      ...kinds,
    };
  }

  function schemaOf(schema: Schema, type: FieldType): JsonSchema {
    switch (type.kind) {
      case "list":
        return { type: "array", items: schemaOf(schema, type.items) };
      case "map":
        return { type: "object", additionalProperties: schemaOf(schema, type.values) };
      case "struct": {
        const ref = { schema, definition: type.definition };
        queue.push(ref);
        return dialect.refTo(openApiName(ref));
      }
      case "scalar":
        return scalarSchema(type.scalar);
    }
  }

  function scalarSchema(scalar: Scalar): JsonSchema {
    const { definition, schema } = scalarSchemas[scalar];
    if (!definition) return schema(dialect);
    schemas.set(definition, schema(dialect));
    return dialect.refTo(definition);
  }
}

/** Adds the values of an enum. For lists and maps, they are those of the items. */
function withEnum(schema: JsonSchema, values: readonly string[] | undefined): JsonSchema {
  if (!values) return schema;
  if (schema.items) return { ...schema, items: withEnum(schema.items, values) };
  const { additionalProperties } = schema;
  if (additionalProperties)
    return { ...schema, additionalProperties: withEnum(additionalProperties, values) };
  return { ...schema, enum: values };
}

function extensions(rule: MergeRule): JsonSchema {
  return {
    ...(rule.listMapKeys && { "x-kubernetes-list-map-keys": rule.listMapKeys }),
    ...(rule.listType && { "x-kubernetes-list-type": rule.listType }),
    ...(rule.mapType && { "x-kubernetes-map-type": rule.mapType }),
    ...(rule.patchMergeKey && { "x-kubernetes-patch-merge-key": rule.patchMergeKey }),
    ...(rule.patchStrategy && { "x-kubernetes-patch-strategy": rule.patchStrategy.join(",") }),
  };
}

function groupVersionKinds(name: string, { kind }: Definition, kinds: readonly KindDefinition[]): JsonSchema {
  if (kind) return { "x-kubernetes-group-version-kind": [kind] };
  if (name === "meta.v1.Status") return { "x-kubernetes-group-version-kind": [coreKind("Status")] };
  if (name !== "meta.v1.DeleteOptions") return {};
  // Every group version has its own DeleteOptions.
  const own = kinds.map(({ resource: { group, version } }) => ({
    ...coreKind("DeleteOptions"),
    group,
    version,
  }));
  const unique = new Map(own.map((entry) => [`${entry.group}/${entry.version}`, entry]));
  return { "x-kubernetes-group-version-kind": [...unique.values()] };
}

const standardMetadata =
  "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

function coreKind(kind: string): GroupVersionKind {
  return { group: "", version: "v1", kind };
}

/** Descriptions of fields that upstream does not have, by definition and field. */
const ours: Readonly<Record<string, string>> = {
  "apps.v1.StatefulSetUpdateStrategy type":
    "How pods are brought to a new revision: RollingUpdate (the default) waits for each pod to be ready before it goes on to the next; OnDelete waits for pods to be deleted; EnforcedRollingUpdate (feature gate EnforcedRollingUpdateInStatefulSet) also replaces pods of an old revision that are not ready.",
};

/** Descriptions of common fields that refer to another definition, which the client package does not describe. */
const byName: Readonly<Record<string, string>> = {
  affinity: "Where the pod may or should run, by nodes and by other pods.",
  lifecycle: "What to do right after the container has started and right before it is stopped.",
  livenessProbe: "Checks that the container still works; it is restarted when the probe fails.",
  metadata: "Name, labels, annotations, owners and what else all objects have.",
  readinessProbe: "Checks that the container can take requests; services leave it out while the probe fails.",
  resources: "How much of each resource is asked for, and how much there may be at most.",
  securityContext: "Users, privileges and other security settings.",
  selector: "Which objects are meant, by their labels.",
  spec: "What is wanted.",
  startupProbe:
    "Checks that the application in the container has started; the other probes wait until it has succeeded once.",
  status: "What is, as far as it is known. Written by the system.",
  template: "What the objects to be made look like.",
  updateStrategy: "How pods are brought to a new revision.",
};

function overridingDescription(definition: string, field: string): string | undefined {
  return ours[`${definition} ${field}`];
}

function fallbackDescription(field: string): string | undefined {
  return Object.hasOwn(byName, field) ? byName[field] : undefined;
}
