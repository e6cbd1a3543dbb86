import { describe, expect, test } from "vitest";
import { builtInSchema } from "./built-in-schema.ts";
import { decodeObject } from "./decode.ts";
import { DecodeError } from "./decode-error.ts";

const pod = "core.v1.Pod";
const empty = { kind: "Pod", apiVersion: "v1", metadata: {}, spec: {}, status: {} };

function decodePod(value: object) {
  return decodeObject(builtInSchema, pod, value).object;
}

function specOf(spec: object): unknown {
  return decodePod({ spec }).spec;
}

describe("decodeObject", () => {
  test("kind, version and metadata are written first", () => {
    const { object } = decodeObject(builtInSchema, pod, {
      status: {},
      spec: {},
      metadata: { name: "a" },
      apiVersion: "v1",
    });
    expect(Object.keys(object)).toEqual(["kind", "apiVersion", "metadata", "status", "spec"]);
    expect(object.kind).toBe("Pod");
  });

  test("structs that Go always writes are there", () => {
    expect(decodePod({})).toEqual(empty);
    expect(specOf({ containers: [{ name: "a" }] })).toEqual({ containers: [{ name: "a", resources: {} }] });
    expect(decodeObject(builtInSchema, "core.v1.Service", {}).object.status).toEqual({ loadBalancer: {} });
  });

  test.each<[string, object, object]>([
    ["nulls go", { hostname: null, nodeSelector: null, containers: [] }, { containers: [] }],
    [
      "empty values of plain fields go",
      { hostname: "", hostNetwork: false, tolerations: [], nodeSelector: {} },
      {},
    ],
    [
      "zeros of pointers stay",
      { terminationGracePeriodSeconds: 0, hostUsers: false, priority: 0 },
      { terminationGracePeriodSeconds: 0, hostUsers: false, priority: 0 },
    ],
    ["required lists stay", { containers: [] }, { containers: [] }],
    ["nulls in lists are empty items", { containers: [null] }, { containers: [{ resources: {} }] }],
    ["nulls in maps are empty values", { nodeSelector: { a: null } }, { nodeSelector: { a: "" } }],
    [
      "empty structs stay",
      { volumes: [{ name: "v", emptyDir: {} }] },
      { volumes: [{ name: "v", emptyDir: {} }] },
    ],
    [
      "quantities are canonical",
      { overhead: { cpu: 0.5, memory: "1024Mi", a: 2, b: "1.0" } },
      { overhead: { cpu: "500m", memory: "1Gi", a: "2", b: "1" } },
    ],
  ])("%s", (_, given, expected) => {
    expect(specOf(given)).toEqual(expected);
  });

  test("the input is not changed", () => {
    const input = { metadata: { labels: { a: null } }, spec: { foo: 1, overhead: { cpu: 1 } } };
    const before = structuredClone(input);
    decodePod(input);
    expect(input).toEqual(before);
  });

  test.each<[string, object, string[]]>([
    ["none", { metadata: { name: "a" } }, []],
    ["at the top", { foo: 1 }, ["foo"]],
    ["in lists", { spec: { containers: [{}, { image: "a", imagee: 1 }] } }, ["spec.containers[1].imagee"]],
    ["differing in case", { spec: { Containers: [] } }, ["spec.Containers"]],
    [
      "names that every object has",
      JSON.parse('{"__proto__":{"a":1},"constructor":1,"toString":2}'),
      ["__proto__", "constructor", "toString"],
    ],
  ])("unknown fields are dropped and named: %s", (_, given, unknown) => {
    const { object, unknownFields } = decodeObject(builtInSchema, pod, given);
    expect(unknownFields).toEqual(unknown);
    expect(Object.keys(object).sort()).toEqual(Object.keys(empty).sort());
  });

  test("hostile keys of maps are data", () => {
    const labels = JSON.parse('{"__proto__":"x","constructor":"y","n":null}');
    const { object } = decodeObject(builtInSchema, pod, { metadata: { labels } });
    expect(JSON.stringify(object.metadata)).toBe('{"labels":{"__proto__":"x","constructor":"y","n":""}}');
    expect(Object.getPrototypeOf((object.metadata as { labels: object }).labels)).toBe(Object.prototype);
  });

  test.each<[object | unknown[], string]>([
    [[], "json: cannot unmarshal array into Go value of type v1.Pod"],
    [
      { metadata: { labels: "a" } },
      "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string",
    ],
    [
      { metadata: { labels: { a: 1 } } },
      "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
    ],
    [{ spec: "a" }, "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"],
    [
      { spec: { containers: {} } },
      "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
    ],
    [
      { spec: { containers: [{ name: true }] } },
      "json: cannot unmarshal bool into Go struct field Container.spec.containers.name of type string",
    ],
    [
      { spec: { containers: [{ ports: [{ containerPort: "80" }] }] } },
      "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
    ],
    [
      { spec: { priority: 1.5 } },
      "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
    ],
    [
      { spec: { priority: 2147483648 } },
      "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
    ],
    [
      { spec: { overhead: [] } },
      "json: cannot unmarshal array into Go struct field PodSpec.spec.overhead of type v1.ResourceList",
    ],
    [
      { spec: { overhead: { cpu: "1x" } } },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      { spec: { overhead: { cpu: {} } } },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [{ metadata: { creationTimestamp: 1 } }, "json: cannot unmarshal number into Go value of type string"],
    [
      { spec: { containers: [{ livenessProbe: { httpGet: { port: 1.5 } } }] } },
      "json: cannot unmarshal number 1.5 into Go value of type int32",
    ],
  ])("%j is refused", (value, message) => {
    expect(() => decodeObject(builtInSchema, pod, value)).toThrow(new DecodeError(message));
  });

  test.each(["YQ==", "", "YWJj", "YW\nJj"])("bytes: %j are base64", (text) => {
    const { object } = decodeObject(builtInSchema, "core.v1.Secret", { data: { a: text } });
    expect(object.data).toEqual({ a: text.replace("\n", "") });
  });

  test.each([
    ["YQ", "illegal base64 data at input byte 2"],
    ["Y*==", "illegal base64 data at input byte 1"],
    ["YQ==YQ==", "illegal base64 data at input byte 2"],
  ])("bytes: %j are not base64", (text, message) => {
    expect(() => decodeObject(builtInSchema, "core.v1.Secret", { data: { a: text } })).toThrow(
      new DecodeError(message),
    );
  });

  test("keeps free-form JSON unchanged up to the maximum depth", () => {
    const data = { spec: { a: null, b: [] } };
    expect(
      decodeObject(builtInSchema, "apps.v1.ControllerRevision", { data, revision: 1 }).object.data,
    ).toEqual(data);
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(() => decodeObject(builtInSchema, "apps.v1.ControllerRevision", { data: deep })).toThrow(
      "exceeded max depth",
    );
  });

  test("a deeply nested value in place of a quantity is rejected", () => {
    const cpu = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(() => specOf({ overhead: { cpu } })).toThrow(DecodeError);
  });

  test("a deeply nested unknown field is dropped", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`);
    expect(decodeObject(builtInSchema, pod, deep).unknownFields).toEqual(["a"]);
  });

  test("every definition decodes an empty object", () => {
    for (const name of builtInSchema.names)
      expect(decodeObject(builtInSchema, name, {}).unknownFields).toEqual([]);
  });

  test("every reference in the schema resolves", () => {
    for (const name of builtInSchema.names) {
      for (const type of Object.values(builtInSchema.definition(name).fields)) {
        const ref = type.replace(/^(\[\]|\{\}|\?)*/, "");
        if (ref.includes(".")) expect(builtInSchema.definition(ref)).toBeDefined();
      }
    }
  });
});
