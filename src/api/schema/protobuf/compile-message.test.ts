import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import { builtInSchema } from "../built-in-schema.ts";
import { type FieldType, parseType, type Scalar } from "../schema.ts";
import { fieldNumbersOf } from "./field-numbers.ts";
import { readFields } from "./message.ts";
import { messageNamed } from "./protobuf-to-json.ts";

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
  return readFields(new BinaryReader(bytes), messageNamed(builtInSchema, definition), {
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
    return value === undefined ? Buffer.alloc(0) : encodeField(number, parseType(types[field] ?? ""), value);
  });
  return Buffer.concat(fields);
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
