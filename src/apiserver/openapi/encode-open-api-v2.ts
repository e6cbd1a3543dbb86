import type { PathItem } from "./build-paths.ts";
import type { Schema } from "./json-schema.ts";
import type { OpenApiV2, Operation, Parameter } from "./open-api-v2.ts";
import { type Message, message, toBuffer } from "./protobuf-message.ts";

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

/** An entry of a map: its key and its value. */
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

/** ParametersItem, which holds a Parameter, which is one of a body or another. */
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

function response(response: { description: string; schema?: Schema }): Message {
  const body = response.schema && message([1, schema(response.schema)]);
  return message([1, message([1, response.description], [2, body])]);
}

function schema(definition: Schema): Message {
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

/** Values of extensions are YAML, which JSON is too. */
function extensions(holder: object): Message[] {
  return Object.entries(holder)
    .filter(([name]) => name.startsWith("x-"))
    .map(([name, value]) => message([1, name], [2, message([2, `${JSON.stringify(value)}\n`])]));
}
