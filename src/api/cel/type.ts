type Kind =
  | "bool"
  | "bytes"
  | "double"
  | "duration"
  | "dyn"
  | "error"
  | "int"
  | "list"
  | "map"
  | "null"
  | "opaque"
  | "param"
  | "string"
  | "struct"
  | "timestamp"
  | "type"
  | "uint";

/** Type of an expression. */
export interface Type {
  readonly kind: Kind;
  readonly name: string;
  readonly params: readonly Type[];
}

function simple(kind: Kind, name: string = kind): Type {
  return { kind, name, params: [] };
}

export const boolType = simple("bool");
export const bytesType = simple("bytes");
export const doubleType = simple("double");
export const durationType = simple("duration", "google.protobuf.Duration");
export const dynType = simple("dyn");
export const errorType = simple("error", "*error*");
export const intType = simple("int");
export const nullType = simple("null", "null_type");
export const stringType = simple("string");
export const timestampType = simple("timestamp", "google.protobuf.Timestamp");
export const typeType = simple("type");
export const uintType = simple("uint");

export function listType(element: Type): Type {
  return { kind: "list", name: "list", params: [element] };
}

export function mapType(key: Type, value: Type): Type {
  return { kind: "map", name: "map", params: [key, value] };
}

/** Type parameter of a function, or a variable of the checker. */
export function paramType(name: string): Type {
  return simple("param", name);
}

export function opaqueType(name: string, ...params: Type[]): Type {
  return { kind: "opaque", name, params };
}

export function optionalType(value: Type): Type {
  return opaqueType("optional_type", value);
}

/** Type of objects with declared fields. */
export function structType(name: string): Type {
  return simple("struct", name);
}

/** Type of a type: that of the expression `int` is `type(int)`. */
export function typeOfType(type: Type): Type {
  return { kind: "type", name: "type", params: [type] };
}

export function isDyn({ kind }: Type): boolean {
  return kind === "dyn";
}

export function isOptional(type: Type): boolean {
  return type.kind === "opaque" && type.name === "optional_type";
}

/** The type itself, or that of the value of an optional. */
export function unwrapOptional(type: Type): Type {
  return isOptional(type) ? (type.params[0] ?? dynType) : type;
}

export function isSameType(a: Type, b: Type): boolean {
  return (
    a === b ||
    (a.kind === b.kind &&
      a.name === b.name &&
      a.params.length === b.params.length &&
      a.params.every((param, i) => isSameType(param, b.params[i] as Type)))
  );
}

const shortNames: Partial<Record<Kind, string>> = {
  duration: "duration",
  error: "!error!",
  null: "null",
  timestamp: "timestamp",
};

/** Type as messages show it: `map(string, int)`. */
export function formatType(type: Type): string {
  const { kind, name, params } = type;
  return params.length === 0 ? (shortNames[kind] ?? name) : `${name}(${params.map(formatType).join(", ")})`;
}
