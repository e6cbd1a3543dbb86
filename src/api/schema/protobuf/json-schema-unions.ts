import {
  type Field,
  list,
  type Message,
  map,
  messageWith,
  singular,
  struct,
  type Value,
  wrapped,
} from "./message.ts";
import { scalarValues } from "./scalar-values.ts";

/*
 * Fields of a CustomResourceDefinition whose JSON is one of several types, such as a schema or a boolean, and whose
 * protobuf is a message with a field for each type. They are compiled here, because their types in the built-in schema
 * describe only the JSON.
 */

const { string, bool } = scalarValues;

/** Field of a definition that is such a union. Undefined for all other fields. */
export function unionField(
  definition: string,
  field: string,
  messageNamed: (definition: string) => Message,
): Field | undefined {
  // An empty message in protobuf and any object in JSON.
  if (definition === "apiextensions.v1.CustomResourceSubresources" && field === "status")
    return struct(field, []);
  if (definition !== "apiextensions.v1.JSONSchemaProps") return undefined;
  const props = messageNamed(definition);
  switch (field) {
    case "items":
      return singular(field, schemaOrSchemas(props));
    case "additionalProperties":
    case "additionalItems":
      return singular(field, schemaOrBool(props));
    case "dependencies":
      return map(field, string, schemaOrStrings(props));
    default:
      return undefined;
  }
}

function schemaOrSchemas(props: Message): Value {
  const schemas = wrapped(props, (fields) => fields);
  return wrapped(
    [undefined, struct("schema", props), list("schemas", schemas)],
    ({ schema, schemas = [] }: { schema?: object; schemas?: object[] }) =>
      schemas.length > 0 ? schemas : (schema ?? null),
  );
}

function schemaOrBool(props: Message): Value {
  return wrapped(
    [...messageWith({ allows: bool }), struct("schema", props)],
    ({ allows = false, schema }: { allows?: boolean; schema?: object }) => schema ?? allows,
  );
}

function schemaOrStrings(props: Message): Value {
  return wrapped(
    [undefined, struct("schema", props), list("property", string)],
    ({ schema, property = [] }: { schema?: object; property?: string[] }) =>
      property.length > 0 ? property : (schema ?? null),
  );
}
