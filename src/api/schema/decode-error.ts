import { definitionOf, type FieldType, parseType, type Scalar } from "./schema.ts";

/** What is wrong with a document that does not fit its definition, in the words of Go's decoder. */
export class DecodeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DecodeError";
  }
}

/** A value of the wrong JSON type. Thrown without a path: `wordMismatch` knows it. */
export class MismatchError extends Error {
  readonly value: unknown;
  readonly expected: FieldType;

  constructor(value: unknown, expected: FieldType) {
    super("mismatch");
    this.value = value;
    this.expected = expected;
  }
}

type Path = readonly (string | number)[];

export function wordMismatch(error: MismatchError, definition: string, path: Path): DecodeError {
  const { struct, field } = locate(definition, path);
  // Of a number that no integer can hold, Go shows which.
  const shown = isInteger(error.expected) && typeof error.value === "number" ? ` ${error.value}` : "";
  const where = field ? `Go struct field ${struct}.${field}` : "Go value";
  return new DecodeError(
    `json: cannot unmarshal ${jsonKind(error.value)}${shown} into ${where} of type ${goType(error.expected)}`,
  );
}

/** Go names the innermost struct and the names of all fields on the way, without indexes and keys of maps. */
function locate(definition: string, path: Path): { struct: string; field: string } {
  const fields: string[] = [];
  let struct = definition;
  let type: FieldType = { kind: "struct", definition };
  for (const step of path) {
    if (type.kind === "struct") {
      struct = type.definition;
      fields.push(String(step));
      type = parseType(definitionOf(struct).fields[step] ?? "json");
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
