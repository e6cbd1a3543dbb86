import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import { builtInSchema } from "../built-in-schema.ts";
import { type FieldType, parseType, type Scalar } from "../schema.ts";
import { fieldNumbersOf } from "./field-numbers.ts";
import { MessageReader, readFields } from "./message.ts";
import { messageNamed } from "./protobuf-to-json.ts";

const schemaProps = "apiextensions.v1.JSONSchemaProps";

describe("decodes the same value as JSON", () => {
  test.each<[string, string, object]>([
    ["strings and numbers", "core.v1.ContainerPort", { name: "http", containerPort: 80, hostPort: 0 }],
    ["negative numbers", "scheduling.v1.PriorityClass", { value: -5, globalDefault: true }],
    ["numbers beyond 32 bits", "core.v1.PodSecurityContext", { runAsUser: 2 ** 53 - 1, fsGroup: -(2 ** 40) }],
    ["lists of numbers", "core.v1.PodSecurityContext", { supplementalGroups: [1, -1, 2 ** 40] }],
    ["bytes", "core.v1.Secret", { data: { key: "/+8AAQ==", empty: "" } }],
    ["times", "meta.v1.ObjectMeta", { creationTimestamp: "2023-11-14T22:13:20Z" }],
    ["times before 1970", "meta.v1.ObjectMeta", { creationTimestamp: "1066-10-14T09:00:00Z" }],
    ["times to the microsecond", "coordination.v1.LeaseSpec", { renewTime: "2023-11-14T22:13:20.000042Z" }],
    ["quantities", "core.v1.ResourceRequirements", { limits: { cpu: "100m", memory: "2Gi" } }],
    ["integers or strings", "apps.v1.RollingUpdateDeployment", { maxSurge: "25%", maxUnavailable: -1 }],
    ["free-form JSON", "apps.v1.ControllerRevision", { data: { spec: [1, null, "x"] }, revision: 1 }],
    ["maps of lists", "authentication.v1.UserInfo", { extra: { scopes: ["a", "b"] } }],
    ["lists of structs", "core.v1.PodSpec", { containers: [{ name: "a" }, {}] }],
    ["inlined structs", "core.v1.Volume", { name: "v", configMap: { name: "c", defaultMode: 420 } }],
    ["numbers after a gap", "meta.v1.OwnerReference", { kind: "Pod", name: "p", apiVersion: "v1" }],
  ])("%s", (_, definition, object) => {
    expect(read(definition, encode(definition, object))).toEqual(object);
  });

  test("schemas of custom resources with every field, and in every place for a schema", () => {
    const leaf = {
      type: "string",
      "x-kubernetes-validations": [{ rule: "self != ''", optionalOldSelf: true }],
    };
    const everything = {
      ...{ id: "i", $schema: "s", $ref: "r", description: "d", type: "object", format: "f", title: "t" },
      ...{ default: { a: [1, null] }, example: "x", enum: ["a", 1, null, false, { b: 2 }] },
      ...{ maximum: 1.5, exclusiveMaximum: true, minimum: -0.1, exclusiveMinimum: true, multipleOf: 1e-9 },
      ...{ maxLength: 2 ** 40, minLength: 1, pattern: "p", maxItems: 2, minItems: 0, uniqueItems: true },
      ...{ maxProperties: 3, minProperties: 1, required: ["a", "b"], nullable: true },
      items: [leaf, { items: { items: leaf } }],
      ...{ allOf: [leaf, {}], oneOf: [leaf], anyOf: [leaf], not: { not: leaf } },
      properties: { a: { properties: { b: leaf } }, c: { additionalProperties: leaf } },
      ...{ additionalProperties: true, additionalItems: { additionalItems: false } },
      ...{ patternProperties: { "^a": leaf }, definitions: { d: leaf } },
      dependencies: { a: ["b", "c"], d: leaf },
      externalDocs: { description: "d", url: "u" },
      "x-kubernetes-preserve-unknown-fields": true,
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-int-or-string": true,
      "x-kubernetes-list-map-keys": ["k"],
      "x-kubernetes-list-type": "map",
      "x-kubernetes-map-type": "atomic",
      ...leaf,
    };
    const { fields } = builtInSchema.definition(schemaProps);
    expect(Object.keys(everything).sort()).toEqual(Object.keys(fields).sort());
    expect(read(schemaProps, encode(schemaProps, everything))).toEqual(everything);
  });

  test("empty unions in a schema", () => {
    const empty = Buffer.concat([24, 30, 33].map((number) => delimited(number)));
    expect(read(schemaProps, empty)).toEqual({
      items: null,
      additionalProperties: false,
      additionalItems: false,
    });
    expect(read(schemaProps, delimited(32, text(1, "a"), delimited(2)))).toEqual({
      dependencies: { a: null },
    });
  });

  test("an empty message as an empty object", () => {
    expect(read("apiextensions.v1.CustomResourceSubresources", delimited(1))).toEqual({ status: {} });
  });

  test("a label named __proto__", () => {
    const labels = JSON.parse('{ "__proto__": "x" }');
    const object = read("meta.v1.ObjectMeta", encode("meta.v1.ObjectMeta", { labels }));
    expect(JSON.stringify(object)).toBe('{"labels":{"__proto__":"x"}}');
    expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
  });

  test("an empty message is the zero value of its type", () => {
    expect(read("meta.v1.ObjectMeta", delimited(8))).toEqual({ creationTimestamp: null });
    expect(read("apps.v1.RollingUpdateDeployment", delimited(1))).toEqual({ maxUnavailable: 0 });
    expect(read("core.v1.EmptyDirVolumeSource", delimited(2))).toEqual({ sizeLimit: "0" });
    expect(read("meta.v1.ObjectMeta", delimited(11))).toEqual({ labels: { "": null } });
  });

  test("packed numbers", () => {
    const numbers = new BinaryWriter().int64(1).int64(-1).finish();
    expect(read("core.v1.PodSecurityContext", delimited(4, numbers))).toEqual({
      supplementalGroups: [1, -1],
    });
  });

  test("merges repeated occurrences of a struct", () => {
    const parts = [{ spec: { hostname: "h" } }, { spec: { subdomain: "s" } }];
    const bytes = Buffer.concat(parts.map((part) => encode("core.v1.Pod", part)));
    expect(read("core.v1.Pod", bytes)).toEqual({ spec: { hostname: "h", subdomain: "s" } });
  });

  test("ignores unknown fields", () => {
    const unknown = new BinaryWriter()
      .tag(1002, WireType.Bit64)
      .double(1)
      .tag(1003, WireType.Bit32)
      .fixed32(1);
    const bytes = Buffer.concat([varint(1000, -1), text(1001, "later"), unknown.finish(), text(1, "known")]);
    expect(read("core.v1.Volume", bytes)).toEqual({ name: "known" });
  });
});

function read(definition: string, bytes: Uint8Array): unknown {
  return readFields(new MessageReader(bytes), messageNamed(builtInSchema, definition), {
    end: bytes.length,
    target: {},
  });
}

/** Writes what `read` reads, by the same table. That the table is upstream's, bodies from kubectl prove elsewhere. */
function encode(
  definition: string,
  object: object,
  types = builtInSchema.definition(definition).fields,
): Uint8Array {
  const fields = (fieldNumbersOf(definition) ?? []).map(([field, number]) => {
    if (field.startsWith("...")) return delimited(number, encode(field.slice(3), object, types));
    const value: unknown = Reflect.get(object, field);
    if (value === undefined) return Buffer.alloc(0);
    const union = definition === schemaProps && encodeUnion(number, field, value);
    return union || encodeField(number, parseType(types[field] ?? ""), value);
  });
  return Buffer.concat(fields);
}

/** Writes a field of a schema that has several types in JSON. Undefined for all other fields. */
function encodeUnion(number: number, field: string, value: unknown): Uint8Array | undefined {
  const props = (at: number, schema: unknown) => delimited(at, encode(schemaProps, schema as object));
  if (field === "items") {
    const parts = Array.isArray(value) ? value.map((schema) => props(2, schema)) : [props(1, value)];
    return delimited(number, ...parts);
  }
  if (field === "additionalProperties" || field === "additionalItems") {
    const isSchema = typeof value === "object";
    return delimited(number, varint(1, Number(isSchema || value)), ...(isSchema ? [props(2, value)] : []));
  }
  if (field !== "dependencies") return undefined;
  const entries = Object.entries(value as object).map(([key, item]) => {
    const parts = Array.isArray(item) ? item.map((name) => text(2, name)) : [props(1, item)];
    return delimited(number, text(1, key), delimited(2, ...parts));
  });
  return Buffer.concat(entries);
}

function encodeField(number: number, type: FieldType, value: unknown): Uint8Array {
  switch (type.kind) {
    case "struct":
      return delimited(number, encode(type.definition, value as object));
    case "list":
      return Buffer.concat((value as unknown[]).map((item) => encodeField(number, type.items, item)));
    case "map": {
      const encodeItem = (item: unknown) =>
        type.values.kind === "list"
          ? delimited(2, encodeField(1, type.values, item))
          : encodeField(2, type.values, item);
      const entries = Object.entries(value as object);
      return Buffer.concat(entries.map(([key, item]) => delimited(number, text(1, key), encodeItem(item))));
    }
    case "scalar":
      return encodeScalar(number, type.scalar, value);
  }
}

function encodeScalar(number: number, scalar: Scalar, value: unknown): Uint8Array {
  switch (scalar) {
    case "bool":
    case "int32":
    case "int64":
      return varint(number, Number(value));
    case "double":
      return new BinaryWriter().tag(number, WireType.Bit64).double(Number(value)).finish();
    case "bytes":
      return delimited(number, Buffer.from(String(value), "base64"));
    case "time":
    case "microTime": {
      const micros = /\.(\d{6})Z/.exec(String(value))?.[1] ?? "0";
      const seconds = Math.floor(Date.parse(String(value)) / 1000);
      return delimited(number, varint(1, seconds), varint(2, Number(micros) * 1000));
    }
    case "quantity":
      return delimited(number, text(1, String(value)));
    case "json":
      return delimited(number, text(1, JSON.stringify(value)));
    case "intOrString":
      return typeof value === "string"
        ? delimited(number, varint(1, 1), varint(2, 0), text(3, value))
        : delimited(number, varint(1, 0), varint(2, Number(value)), text(3, ""));
    default:
      return text(number, String(value));
  }
}

function varint(number: number, value: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.Varint).int64(BigInt(value)).finish();
}

function text(number: number, value: string): Uint8Array {
  return delimited(number, Buffer.from(value));
}

function delimited(number: number, ...parts: Uint8Array[]): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(Buffer.concat(parts)).finish();
}
