import { apiVersionOf } from "../resources.ts";
import { MismatchError, wordMismatch } from "./decode-error.ts";
import { scalarCodecs } from "./decode-scalar.ts";
import { define, isJsonObject, type JsonObject } from "./json-object.ts";
import { type Definition, definitionOf, type FieldType, parseType } from "./schema.ts";

export interface Decoded {
  /** Has the shape that the definition says. Shares nothing with the input but free-form JSON. */
  readonly object: Readonly<Record<string, unknown>>;
  /** Paths of fields that the definition does not have and that were dropped: `spec.containers[0].foo`. */
  readonly unknownFields: readonly string[];
}

/**
 * Checks parsed JSON against a definition and gives it as the API keeps it, which is how Go would write it again:
 * nulls and unknown fields gone, optional fields with empty values gone unless the emptiness says something,
 * structs that are always there added, quantities and times in canonical form, `kind`, `apiVersion` and `metadata`
 * first. Throws DecodeError.
 */
export function decodeObject(definition: string, value: unknown): Decoded {
  const context: Context = { path: [], unknownFields: [] };
  try {
    const decoded = structNamed(definition).decode(value, context) as JsonObject;
    const { kind } = definitionOf(definition);
    const object = kind
      ? { kind: kind.kind, apiVersion: apiVersionOf(kind), ...headFirst(decoded) }
      : decoded;
    return { object, unknownFields: context.unknownFields };
  } catch (error) {
    if (error instanceof MismatchError) throw wordMismatch(error, definition, context.path);
    throw error;
  }
}

interface Context {
  /** Where decoding is; left as it is when something throws. */
  readonly path: (string | number)[];
  readonly unknownFields: string[];
}

interface Codec {
  readonly decode: (value: unknown, context: Context) => unknown;
  /** What null stands for where something must stand: in lists and as the value of a map. */
  zero(): unknown;
  /** True for a decoded value that an optional field is left out for. */
  isEmpty(value: unknown): boolean;
}

interface Field {
  readonly codec: Codec;
  readonly dropsEmpty: boolean;
}

// Definitions are compiled when first needed: a server that sees only pods pays for pods.
const structs = new Map<string, Codec>();

function structNamed(name: string): Codec {
  let codec = structs.get(name);
  if (!codec) {
    codec = compileStruct(name, definitionOf(name));
    structs.set(name, codec);
  }
  return codec;
}

function compile(type: FieldType): Codec {
  switch (type.kind) {
    case "scalar": {
      const { decode, zero, alwaysWritten } = scalarCodecs[type.scalar];
      return { decode, zero: () => zero, isEmpty: (value) => !alwaysWritten && value === zero };
    }
    case "list":
      return compileList(type, compile(type.items));
    case "map":
      return compileMap(type, compile(type.values));
    case "struct": {
      // Resolved at first use, so that a definition may contain itself.
      const { definition } = type;
      return {
        decode: (value, context) => structNamed(definition).decode(value, context),
        zero: () => structNamed(definition).zero(),
        isEmpty: () => false,
      };
    }
  }
}

function compileStruct(name: string, { fields, required = [], kept = [] }: Definition): Codec {
  const plan = new Map<string, Field>();
  const alwaysThere: { field: string; codec: Codec }[] = [];
  for (const [field, text] of Object.entries(fields)) {
    const type = parseType(text);
    const codec = compile(type);
    plan.set(field, { codec, dropsEmpty: !required.includes(field) && !kept.includes(field) });
    if (type.kind === "struct" && kept.includes(field)) alwaysThere.push({ field, codec });
  }
  const expected: FieldType = { kind: "struct", definition: name };

  function decode(value: unknown, context: Context): JsonObject {
    if (!isJsonObject(value)) throw new MismatchError(value, expected);
    const decoded: JsonObject = {};
    for (const key in value) {
      const child = value[key];
      const field = plan.get(key);
      if (field === undefined) {
        addUnknown(context, key);
      } else if (child !== null && child !== undefined) {
        context.path.push(key);
        const next = field.codec.decode(child, context);
        context.path.pop();
        if (!field.dropsEmpty || !field.codec.isEmpty(next)) decoded[key] = next;
      }
    }
    for (const { field, codec } of alwaysThere) decoded[field] ??= codec.zero();
    return decoded;
  }

  return { decode, zero: () => decode({}, emptyContext), isEmpty: () => false };
}

/** Nothing in an empty struct can be unknown or wrong. */
const emptyContext: Context = { path: [], unknownFields: [] };

function compileList(type: FieldType, items: Codec): Codec {
  function decode(value: unknown, context: Context): unknown[] {
    if (!Array.isArray(value)) throw new MismatchError(value, type);
    return value.map((child, i) => {
      context.path.push(i);
      const next = child === null ? items.zero() : items.decode(child, context);
      context.path.pop();
      return next;
    });
  }
  return { decode, zero: () => [], isEmpty: (value) => Array.isArray(value) && value.length === 0 };
}

function compileMap(type: FieldType, values: Codec): Codec {
  function decode(value: unknown, context: Context): JsonObject {
    if (!isJsonObject(value)) throw new MismatchError(value, type);
    // Spreading defines keys as `define` does: a label named __proto__ is a label.
    const decoded = { ...value };
    for (const key in value) {
      const child = value[key];
      context.path.push(key);
      const next = child === null ? values.zero() : values.decode(child, context);
      context.path.pop();
      if (next !== child) define(decoded, key, next);
    }
    return decoded;
  }
  return { decode, zero: () => ({}), isEmpty: (value) => isJsonObject(value) && isEmptyRecord(value) };
}

function isEmptyRecord(value: JsonObject): boolean {
  for (const _ in value) return false;
  return true;
}

/** Serialised objects begin with their kind, version and metadata: readers of stored objects rely on it. */
function headFirst({ kind: _kind, apiVersion: _apiVersion, metadata, ...rest }: JsonObject): JsonObject {
  return metadata === undefined ? rest : { metadata, ...rest };
}

/** Upstream names no more than a hundred. */
const maxUnknownFields = 100;

function addUnknown({ path, unknownFields }: Context, key: string): void {
  if (unknownFields.length < maxUnknownFields) unknownFields.push(formatPath(path, key));
}

function formatPath(path: readonly (string | number)[], last: string): string {
  let text = "";
  for (const step of path) text += typeof step === "number" ? `[${step}]` : text ? `.${step}` : step;
  return text ? `${text}.${last}` : last;
}
