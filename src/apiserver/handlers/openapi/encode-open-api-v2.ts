import type { PathItem } from "./build-paths.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { OpenApiV2, Operation, Parameter } from "./open-api-v2.ts";

/**
 * OpenAPI v2 in protobuf, which is the only form in which kubectl reads it. The messages are those of gnostic's
 * openapi.v2; each function below is one of them, with the numbers of the fields that are used.
 */
export function encodeOpenApiV2(document: OpenApiV2): Buffer {
  const { title, version } = document.info;
  return toBuffer(
    message(
      [1, document.swagger],
      [2, message([1, title], [2, version])],
      [8, message([2, named(document.paths, pathItem)])],
      [9, message([1, named(document.definitions, schema)])],
    ),
  );
}

/** Encodes the entries of a map with their keys. */
function named<T>(entries: Readonly<Record<string, T>>, encode: (value: T) => Message): Message[] {
  return Object.entries(entries).map(([name, value]) => message([1, name], [2, encode(value)]));
}

function pathItem(item: PathItem<Parameter[], Operation>): Message {
  return message(
    [2, item.get && operation(item.get)],
    [3, item.put && operation(item.put)],
    [4, item.post && operation(item.post)],
    [5, item.delete && operation(item.delete)],
    [8, item.patch && operation(item.patch)],
    [9, item.parameters.map(parameter)],
  );
}

function operation(operation: Operation): Message {
  return message(
    [1, operation.tags],
    [3, operation.description],
    [5, operation.operationId],
    [6, operation.produces],
    [7, operation.consumes],
    [8, operation.parameters.map(parameter)],
    [9, message([1, named(operation.responses, response)])],
    [10, operation.schemes],
    [13, extensions(operation)],
  );
}

/** Encodes a ParametersItem with a body parameter or a non-body parameter. */
function parameter(parameter: Parameter): Message {
  const { name, description, required, schema: body, type, uniqueItems } = parameter;
  switch (parameter.in) {
    case "body": {
      const fields = message(
        [1, description],
        [2, name],
        [3, "body"],
        [4, required],
        [5, body && schema(body)],
      );
      return message([1, message([1, fields])]);
    }
    case "query": {
      const fields = message(
        [1, required],
        [2, "query"],
        [3, description],
        [4, name],
        [6, type],
        [20, uniqueItems],
      );
      return message([1, message([2, message([3, fields])])]);
    }
    case "path": {
      const fields = message(
        [1, required],
        [2, "path"],
        [3, description],
        [4, name],
        [5, type],
        [19, uniqueItems],
      );
      return message([1, message([2, message([4, fields])])]);
    }
  }
}

function response(response: { description: string; schema?: JsonSchema }): Message {
  const body = response.schema && message([1, schema(response.schema)]);
  return message([1, message([1, response.description], [2, body])]);
}

function schema(definition: JsonSchema): Message {
  const { additionalProperties, items, properties, type } = definition;
  return message(
    [1, definition.$ref],
    [2, definition.format],
    [4, definition.description],
    [19, definition.required],
    [21, additionalProperties && message([1, schema(additionalProperties)])],
    [22, type && message([1, type])],
    [23, items && message([1, schema(items)])],
    [25, properties && message([1, named(properties, schema)])],
    [31, extensions(definition)],
  );
}

/** Encodes extensions. Their values are YAML, of which JSON is a subset. */
function extensions(holder: object): Message[] {
  return Object.entries(holder)
    .filter(([name]) => name.startsWith("x-"))
    .map(([name, value]) => message([1, name], [2, message([2, `${JSON.stringify(value)}\n`])]));
}

/** An encoded message. One character is one byte: joining strings is far cheaper than joining many small buffers. */
export interface Message {
  readonly bytes: string;
}

/** Value of a field: text, a boolean, another message, or several of these. */
type FieldValue = string | boolean | Message | readonly (string | Message)[] | undefined;

/** Encodes a protobuf message from field numbers and values. Empty fields are left out, as proto3 does. */
export function message(...fields: readonly (readonly [number, FieldValue])[]): Message {
  let bytes = "";
  for (const [number, value] of fields) {
    if (!value) continue;
    if (value === true) bytes += varint(number * 8) + varint(1);
    else if (isMany(value)) for (const item of value) bytes += delimited(number, item);
    else bytes += delimited(number, value);
  }
  return { bytes };
}

export function toBuffer({ bytes }: Message): Buffer {
  return Buffer.from(bytes, "latin1");
}

function isMany(value: FieldValue): value is readonly (string | Message)[] {
  return Array.isArray(value);
}

function delimited(number: number, value: string | Message): string {
  const bytes = typeof value === "string" ? utf8(value) : value.bytes;
  return varint(number * 8 + 2) + varint(bytes.length) + bytes;
}

function utf8(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is its own encoding
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}

function varint(value: number): string {
  if (value < 128) return String.fromCharCode(value);
  return String.fromCharCode((value % 128) + 128) + varint(Math.floor(value / 128));
}
