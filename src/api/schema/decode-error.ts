import { type FieldType, parseType, type Scalar, type Schema } from "./schema.ts";

/** Error of a document that does not match its definition, in the words of Go's decoder. */
export class DecodeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DecodeError";
  }
}

/** Error of a value of the wrong JSON type. `wordMismatch` adds the path. */
export class MismatchError extends Error {
  readonly value: unknown;
  readonly expected: FieldType;

  constructor(value: unknown, expected: FieldType) {
    super("mismatch");
    this.value = value;
    this.expected = expected;
  }
}

/** Position of a value in an object of a definition. */
interface Position {
  readonly schema: Schema;
  readonly definition: string;
  readonly path: readonly (string | number)[];
}

export function wordMismatch(error: MismatchError, position: Position): DecodeError {
  const { struct, field } = locate(position);
  // Go's message contains a number that does not fit into an integer.
  const shown = isInteger(error.expected) && typeof error.value === "number" ? ` ${error.value}` : "";
  const where = field ? `Go struct field ${struct}.${field}` : "Go value";
  return new DecodeError(
    `json: cannot unmarshal ${jsonKind(error.value)}${shown} into ${where} of type ${goType(error.expected)}`,
  );
}

/** Go's messages contain the innermost struct and the path of field names without indexes and map keys. */
function locate({ schema, definition, path }: Position): { struct: string; field: string } {
  const fields: string[] = [];
  let struct = definition;
  let type: FieldType = { kind: "struct", definition };
  for (const step of path) {
    if (type.kind === "struct") {
      struct = type.definition;
      fields.push(String(step));
      type = parseType(schema.definition(struct).fields[step] ?? "json");
    } else if (type.kind === "list") {
      type = type.items;
    } else if (type.kind === "map") {
      type = type.values;
    }
  }
  return { struct: shortName(struct), field: fields.join(".") };
}

function isInteger(type: FieldType): boolean {
  return type.kind === "scalar" && (type.scalar === "int32" || type.scalar === "int64");
}

export function jsonKind(value: unknown): string {
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  return Array.isArray(value) ? "array" : "object";
}

const goScalars: Readonly<Record<Scalar, string>> = {
  string: "string",
  bool: "bool",
  int32: "int32",
  int64: "int64",
  double: "float64",
  time: "string",
  microTime: "string",
  bytes: "[]uint8",
  quantity: "resource.Quantity",
  intOrString: "int32",
  json: "runtime.RawExtension",
  fieldsV1: "v1.FieldsV1",
};

function goType(type: FieldType): string {
  switch (type.kind) {
    case "scalar":
      return goScalars[type.scalar];
    case "list":
      return `[]${goType(type.items)}`;
    case "map": {
      const isResourceList = type.values.kind === "scalar" && type.values.scalar === "quantity";
      return isResourceList ? "v1.ResourceList" : `map[string]${goType(type.values)}`;
    }
    case "struct":
      return `v1.${shortName(type.definition)}`;
  }
}

function shortName(definition: string): string {
  return definition.slice(definition.lastIndexOf(".") + 1);
}

/** Beginnings of V8's messages, with the endings of Go's: `invalid character 'x' looking for beginning of value`. */
const places: readonly (readonly [start: string, place: string])[] = [
  ["Expected property name", "looking for beginning of object key string"],
  ["Expected double-quoted property name", "looking for beginning of object key string"],
  ["Expected ':' after", "after object key"],
  ["Expected ',' or '}'", "after object key:value pair"],
  ["Expected ',' or ']'", "after array element"],
  ["Unexpected non-whitespace", "after top-level value"],
  ["Bad control character", "in string literal"],
  ["Bad escaped character", "in string escape code"],
];

/** Converts a syntax error of JSON.parse to Go's message. */
export function goSyntaxError(error: SyntaxError, text: string): string {
  const { message } = error;
  const position = /position (\d+)/.exec(message)?.[1];
  const token = /^Unexpected token '(.+?)',/su.exec(message)?.[1];
  const character = token ?? (position === undefined ? undefined : text.charAt(Number(position)));
  if (!character || message.startsWith("Unterminated")) return "unexpected end of JSON input";
  const place = places.find(([start]) => message.startsWith(start))?.[1] ?? "looking for beginning of value";
  return `invalid character '${character}' ${place}`;
}
