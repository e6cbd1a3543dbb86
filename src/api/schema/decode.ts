import { apiVersionOf } from "../meta/resource.ts";
import { DecodeError, MismatchError, wordMismatch } from "./decode-error.ts";
import { scalarCodecs } from "./decode-scalar.ts";
import { define, isJsonObject, type JsonObject, maxDepth } from "./json-object.ts";
import { type DecodedObject, type FieldType, parseType, type Schema } from "./schema.ts";

/**
 * Validates parsed JSON against a definition and returns it in stored form, as Go would encode it: without nulls and
 * unknown fields, without optional fields with empty values (except pointers in Go), with structs that are always
 * present, with canonical quantities and times, and with `kind`, `apiVersion` and `metadata` first. Throws DecodeError.
 */
export function decodeObject(schema: Schema, definition: string, value: unknown): DecodedObject {
  const custom = schema.decode?.(definition, value);
  if (custom) return custom;
  const context: Context = { path: [], unknownFields: [] };
  try {
    const decoded = codecsOf(schema)(definition).decode(value, context) as JsonObject;
    const { kind } = schema.definition(definition);
    const object = kind
      ? { kind: kind.kind, apiVersion: apiVersionOf(kind), ...headFirst(decoded) }
      : decoded;
    return { object, unknownFields: context.unknownFields };
  } catch (error) {
    if (error instanceof MismatchError) throw wordMismatch(error, { schema, definition, path: context.path });
    throw error;
  }
}

interface Context {
  /** Current path. Not restored on an error. */
  readonly path: (string | number)[];
  readonly unknownFields: string[];
}

interface Codec {
  readonly decode: (value: unknown, context: Context) => unknown;
  /** Replacement of null in lists and maps. */
  zero(): unknown;
  /** Whether an optional field with this decoded value is omitted. */
  isEmpty(value: unknown): boolean;
}

interface Field {
  readonly codec: Codec;
  readonly dropsEmpty: boolean;
}

type FindCodec = (definition: string) => Codec;

const compiledSchemas = new WeakMap<Schema, FindCodec>();

/** Codecs of a schema's definitions, each compiled on first use. */
function codecsOf(schema: Schema): FindCodec {
  let find = compiledSchemas.get(schema);
  if (!find) {
    find = createCodecs(schema);
    compiledSchemas.set(schema, find);
  }
  return find;
}

function createCodecs(schema: Schema): FindCodec {
  const structs = new Map<string, Codec>();
  return function find(name) {
    let codec = structs.get(name);
    if (!codec) {
      codec = compileStruct(schema, name, find);
      structs.set(name, codec);
    }
    return codec;
  };
}

function compile(type: FieldType, structNamed: FindCodec): Codec {
  switch (type.kind) {
    case "scalar": {
      const { decode, zero, alwaysWritten } = scalarCodecs[type.scalar];
      return { decode, zero: () => zero, isEmpty: (value) => !alwaysWritten && value === zero };
    }
    case "list":
      return compileList(type, compile(type.items, structNamed));
    case "map":
      return compileMap(type, compile(type.values, structNamed));
    case "struct": {
      // Resolved on first use, so that a definition may contain itself.
      const { definition, loose } = type;
      return {
        decode: (value, context) =>
          loose && !isJsonObject(value)
            ? scalarCodecs.json.decode(value)
            : structNamed(definition).decode(value, context),
        zero: () => structNamed(definition).zero(),
        isEmpty: () => false,
      };
    }
  }
}

function compileStruct(schema: Schema, name: string, structNamed: FindCodec): Codec {
  const { fields, required = [], kept = [] } = schema.definition(name);
  const plan = new Map<string, Field>();
  const alwaysThere: { field: string; codec: Codec }[] = [];
  for (const [field, text] of Object.entries(fields)) {
    const type = parseType(text);
    const codec = compile(type, structNamed);
    plan.set(field, { codec, dropsEmpty: !required.includes(field) && !kept.includes(field) });
    if (type.kind === "struct" && kept.includes(field)) alwaysThere.push({ field, codec });
  }
  const expected: FieldType = { kind: "struct", definition: name };

  function decode(value: unknown, context: Context): JsonObject {
    if (!isJsonObject(value)) throw new MismatchError(value, expected);
    // Schemas of custom resources contain themselves.
    if (context.path.length > maxDepth) throw new DecodeError("exceeded max depth");
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

/** Context for empty structs, in which there is nothing to report. */
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
    // Spreading defines keys like `define`, so that __proto__ is an ordinary key.
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

/** Moves kind, apiVersion and metadata to the front. Readers of stored objects rely on this order. */
function headFirst({ kind: _kind, apiVersion: _apiVersion, metadata, ...rest }: JsonObject): JsonObject {
  return metadata === undefined ? rest : { metadata, ...rest };
}

/** Limit of upstream. */
const maxUnknownFields = 100;

function addUnknown({ path, unknownFields }: Context, key: string): void {
  if (unknownFields.length < maxUnknownFields) unknownFields.push(formatPath(path, key));
}

function formatPath(path: readonly (string | number)[], last: string): string {
  let text = "";
  for (const step of path) text += typeof step === "number" ? `[${step}]` : text ? `.${step}` : step;
  return text ? `${text}.${last}` : last;
}
