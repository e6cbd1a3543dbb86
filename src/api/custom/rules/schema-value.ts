import { equal } from "../../cel/compare.ts";
import { parseDuration, parseTimestamp, schemaUnits } from "../../cel/time.ts";
import { opaqueType } from "../../cel/type.ts";
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  CelObject,
  type Meter,
  noSuchOverload,
  Timestamp,
  type Value,
} from "../../cel/values.ts";
import { isEqual } from "../../meta/is-equal.ts";
import { isJsonObject, type JsonObject } from "../../schema/json-object.ts";
import {
  additionalOf,
  isEmbeddedResource,
  isIntOrString,
  itemsOf,
  type OpenApiSchema,
  preservesUnknownFields,
  propertyOf,
} from "../open-api-schema.ts";
import { withObjectMeta } from "./declared-type.ts";
import { escapeName, unescapeName } from "./escape-name.ts";

/** Value of an object in expressions, by its schema. Parts are converted when an expression reads them. */
export function toValue(json: unknown, schema: OpenApiSchema): Value {
  if (json === null || json === undefined)
    return schema.nullable ? null : new CelError("invalid data, got null for schema with nullable=false");
  if (isIntOrString(schema)) {
    if (typeof json === "string") return json;
    if (typeof json === "number" && Number.isInteger(json)) return BigInt(json);
    return new CelError("invalid data, expected XIntOrString value to be either a string or integer");
  }
  switch (schema.type) {
    case "object":
      if (!isJsonObject(json))
        return new CelError("invalid data, expected a map for the provided schema with type=object");
      return new SchemaMap(json, isEmbeddedResource(schema) ? withObjectMeta(schema) : schema);
    case "array": {
      const items = itemsOf(schema);
      if (!Array.isArray(json) || !items)
        return new CelError("invalid data, expected an array for the provided schema with type=array");
      return toList(json, items, schema);
    }
    case "string":
      return typeof json === "string" ? toText(json, schema) : unexpected("string", json);
    case "number":
      return typeof json === "number" ? json : unexpected("float", json);
    case "integer":
      return typeof json === "number" && Number.isInteger(json) ? BigInt(json) : unexpected("int", json);
    case "boolean":
      return typeof json === "boolean" ? json : unexpected("bool", json);
    default:
      return preservesUnknownFields(schema) ? new UnknownValue(json) : new CelError("invalid type");
  }
}

function unexpected(type: string, json: unknown): CelError {
  return new CelError(`invalid data, expected ${type}, got ${typeof json}`);
}

function toText(text: string, { format }: OpenApiSchema): Value {
  switch (format) {
    case "duration": {
      const units = text.replace(/\s+/g, "").replace(/([A-Za-zµμ]+)/g, (unit) => shortUnits[unit] ?? unit);
      return parseDuration(units, schemaUnits) ?? new CelError(`Invalid duration ${text}`);
    }
    case "date": {
      const time = parseTimestamp(`${text}T00:00:00Z`);
      return time === undefined ? new CelError(`Invalid date formatted string ${text}`) : new Timestamp(time);
    }
    case "date-time": {
      const time = parseTimestamp(text.toUpperCase().replace(" ", "T"));
      return time === undefined
        ? new CelError(`Invalid date-time formatted string ${text}`)
        : new Timestamp(time);
    }
    case "byte":
      return Uint8Array.from(Buffer.from(text, "base64"));
    default:
      return text;
  }
}

/** Long names of the units of a duration. */
const shortUnits: Readonly<Record<string, string>> = {
  nano: "ns",
  nanos: "ns",
  nanosecond: "ns",
  nanoseconds: "ns",
  micro: "us",
  micros: "us",
  microsecond: "us",
  microseconds: "us",
  milli: "ms",
  millis: "ms",
  millisecond: "ms",
  milliseconds: "ms",
  sec: "s",
  secs: "s",
  second: "s",
  seconds: "s",
  min: "m",
  mins: "m",
  minute: "m",
  minutes: "m",
  hr: "h",
  hrs: "h",
  hour: "h",
  hours: "h",
  day: "d",
  days: "d",
  wk: "w",
  wks: "w",
  week: "w",
  weeks: "w",
};

/** Value without a schema, which can only be compared. */
class UnknownValue extends CelObject {
  readonly type = opaqueType("unknown");
  private readonly json: unknown;

  constructor(json: unknown) {
    super();
    this.json = json;
  }

  equals(other: CelObject): boolean {
    return other instanceof UnknownValue && isEqual(this.json, other.json);
  }
}

class SchemaMap extends CelMap {
  private readonly json: JsonObject;
  private readonly schema: OpenApiSchema;

  constructor(json: JsonObject, schema: OpenApiSchema) {
    super();
    this.json = json;
    this.schema = schema;
  }

  get size(): number {
    return Object.keys(this.json).length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return key instanceof CelError ? key : noSuchOverload;
    const isObject = this.schema.properties !== undefined;
    const name = isObject ? unescapeName(key) : key;
    if (name === undefined || !Object.hasOwn(this.json, name)) return undefined;
    const json = this.json[name];
    const schema = this.fieldSchema(name);
    return !schema || (isObject && json === null) ? undefined : toValue(json, schema);
  }

  *keys(): Generator<Value> {
    const isObject = this.schema.properties !== undefined;
    for (const key of Object.keys(this.json))
      if (this.fieldSchema(key)) yield isObject ? (escapeName(key) ?? key) : key;
  }

  override equals(other: CelMap, meter: Meter): Value {
    for (const [key, json] of Object.entries(this.json)) {
      if (!this.fieldSchema(key)) {
        const isOther =
          other instanceof SchemaMap && Object.hasOwn(other.json, key) && !isEqual(json, other.json[key]);
        if (isOther) return false;
        continue;
      }
      const name = this.schema.properties === undefined ? key : (escapeName(key) ?? key);
      const [left, right] = [this.find(name), other.find(name)];
      if ((left === undefined) !== (right === undefined)) return false;
      if (left === undefined || right === undefined) continue;
      const result = equal(left, right, meter);
      if (result !== true) return result;
    }
    return true;
  }

  private fieldSchema(key: string): OpenApiSchema | undefined {
    if (this.schema.properties !== undefined) return propertyOf(this.schema, key);
    return additionalOf(this.schema);
  }
}

function toList(json: readonly unknown[], items: OpenApiSchema, schema: OpenApiSchema): CelList {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "map" && type !== "set") return new SchemaList(json, items);
  const keys = (schema["x-kubernetes-list-map-keys"] ?? []).map((key) => escapeName(key) ?? key);
  const keyOf = (item: Value) =>
    type === "set"
      ? keyText(item)
      : JSON.stringify(keys.map((key) => keyText(item instanceof CelMap ? (item.find(key) ?? null) : null)));
  return new KeyedList(
    json.map((item) => toValue(item, items)),
    keyOf,
    type,
  );
}

/** Text that is the same for equal scalars. */
function keyText(value: Value): string {
  return typeof value === "object" ? JSON.stringify(value) : `${typeof value} ${value}`;
}

class SchemaList extends CelList {
  private readonly json: readonly unknown[];
  private readonly schema: OpenApiSchema;

  constructor(json: readonly unknown[], schema: OpenApiSchema) {
    super();
    this.json = json;
    this.schema = schema;
  }

  get length(): number {
    return this.json.length;
  }

  at(index: number): Value {
    return toValue(this.json[index], this.schema);
  }
}

/** List of the type set or map: items have keys, and their order does not matter. */
class KeyedList extends ArrayList {
  private readonly keyOf: (item: Value) => string;
  private readonly kind: "set" | "map";

  constructor(items: readonly Value[], keyOf: (item: Value) => string, kind: "set" | "map") {
    super(items);
    this.keyOf = keyOf;
    this.kind = kind;
  }

  /** Adds items with new keys. An item with a known key replaces that of a map. */
  override concat(other: CelList, meter: Meter): Value {
    meter.spend(this.length + other.length);
    const items = new Map(this.items.map((item) => [this.keyOf(item), item]));
    for (const item of other.values()) {
      const key = this.keyOf(item);
      if (this.kind === "map" || !items.has(key)) items.set(key, item);
    }
    return new KeyedList([...items.values()], this.keyOf, this.kind);
  }

  override equals(other: CelList, meter: Meter): Value {
    const items = new Map(this.items.map((item) => [this.keyOf(item), item]));
    for (const item of other.values()) {
      meter.spend(1);
      const own = items.get(this.keyOf(item));
      if (own === undefined) return false;
      const result = this.kind === "set" ? true : equal(own, item, meter);
      if (result !== true) return result;
    }
    return true;
  }
}
