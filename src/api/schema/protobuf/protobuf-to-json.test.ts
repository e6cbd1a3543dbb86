import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../../test/support/fuzz/rounds.ts";
import { StatusError } from "../../meta/status-error.ts";
import { builtInSchema } from "../built-in-schema.ts";
import { decodeBody } from "../decode-body.ts";
import type { Schema } from "../schema.ts";
import { everyField } from "./every-field.fixture.ts";
import { protobufToJson } from "./protobuf-to-json.ts";

/** Body that kubectl 1.36 sent, and its output for the same command with --dry-run=client -o json. */
const captured = {
  "create configmap": {
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    body: "azhzAAoPCgJ2MRIJQ29uZmlnTWFwElAKGAoIc2V0dGluZ3MSABoAIgAqADIAOABCABIRCglfX3Byb3RvX18SBGRhdGESEwoIZ3JlZXRpbmcSB2dyw7zDn2UaDAoEYmxvYhIE//4AARoAIgA=",
    json: '{"metadata":{"name":"settings"},"data":{"__proto__":"data","greeting":"grüße"},"binaryData":{"blob":"//4AAQ=="}}',
  },
  "create deployment": {
    kind: { group: "apps", version: "v1", kind: "Deployment" },
    body: "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EpsBChsKAWQSABoAIgAqADIAOABCAFoICgNhcHASAWQSbggBEgoKCAoDYXBwEgFkGlYKGgoAEgAaACIAKgAyADgAQgBaCAoDYXBwEgFkEjgSGgoBeBIBeCoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwIABAAGAAgACgAOAAaACIA",
    json: '{"metadata":{"name":"d","labels":{"app":"d"}},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"d"}},"template":{"metadata":{"labels":{"app":"d"}},"spec":{"containers":[{"name":"x","image":"x","resources":{}}]}},"strategy":{}},"status":{}}',
  },
  "create service nodeport": {
    kind: { group: "", version: "v1", kind: "Service" },
    body: "azhzAAoNCgJ2MRIHU2VydmljZRJnChsKAXMSABoAIgAqADIAOABCAFoICgNhcHASAXMSRAogCgc4MC1odHRwEgNUQ1AYUCIKCAEQABoEaHR0cCiA6wESCAoDYXBwEgFzGgAiCE5vZGVQb3J0OgBCAFIAWgBgAGgAGgIKABoAIgA=",
    json: '{"metadata":{"name":"s","labels":{"app":"s"}},"spec":{"ports":[{"name":"80-http","protocol":"TCP","port":80,"targetPort":"http","nodePort":30080}],"selector":{"app":"s"},"type":"NodePort"},"status":{"loadBalancer":{}}}',
  },
  "create role": {
    kind: { group: "rbac.authorization.k8s.io", version: "v1", kind: "Role" },
    body: "azhzAAokChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgRSb2xlEisKEQoBchIAGgAiACoAMgA4AEIAEhYKA2dldAoEbGlzdBIAGgRwb2RzIgFhGgAiAA==",
    json: '{"metadata":{"name":"r"},"rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]}]}',
  },
  "create priorityclass": {
    kind: { group: "scheduling.k8s.io", version: "v1", kind: "PriorityClass" },
    body: "azhzAAolChRzY2hlZHVsaW5nLms4cy5pby92MRINUHJpb3JpdHlDbGFzcxIqChEKAXASABoAIgAqADIAOABCABD7//////////8BGAEiAXgqBU5ldmVyGgAiAA==",
    json: '{"metadata":{"name":"p"},"value":-5,"globalDefault":true,"description":"x","preemptionPolicy":"Never"}',
  },
  "create poddisruptionbudget": {
    kind: { group: "policy", version: "v1", kind: "PodDisruptionBudget" },
    body: "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSNgoRCgFwEgAaACIAKgAyADgAQgASFQoJCAEQABoDNTAlEggKBgoBYRIBYhoKCAAYACAAKAAwABoAIgA=",
    json: '{"metadata":{"name":"p"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"a":"b"}}},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}',
  },
  "create token": {
    kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
    body: "azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIxChAKABIAGgAiACoAMgA4AEIAEhcKAWEaDwoDUG9kEgJ2MRoBcCIBdSCQHBoECgASABoAIgA=",
    json: '{"metadata":{},"spec":{"audiences":["a"],"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"u"},"expirationSeconds":3600},"status":{"token":""}}',
  },
};
const strict = { fieldValidation: "Strict" } as const;
const deployment = bytesOf(captured["create deployment"].body);

describe("reads what kubectl sends for", () => {
  test.each(Object.entries(captured))("%s", (_, { kind, body, json }) => {
    const decode = (text: string) => decodeBody(builtInSchema, kind, text, strict);
    expect(decode(JSON.stringify(protobufToJson(builtInSchema, bytesOf(body))))).toEqual(decode(json));
  });

  test("drain, whose DeleteOptions have no group", () => {
    const body = "azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxICCAcaACIA";
    const expected = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 7 };
    expect(protobufToJson(builtInSchema, bytesOf(body))).toEqual(expected);
  });
});

test("reads what upstream writes for a CustomResourceDefinition", () => {
  const kind = { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" };
  const decode = (text: string) => {
    const { object } = decodeBody<{ spec?: object; metadata: { labels?: object } }>(
      builtInSchema,
      kind,
      text,
      strict,
    );
    return { spec: object.spec, labels: object.metadata.labels };
  };
  const body = protobufToJson(builtInSchema, bytesOf(everyField.protobuf));
  expect(decode(JSON.stringify(body))).toEqual(decode(everyField.json));
});

test.each(["PodList", "VolumeSource", "Nonsense"])(
  "reads apiVersion and kind of a %s and drops its content",
  (kind) => {
    expect(protobufToJson(builtInSchema, envelope("v1", kind, deployment))).toEqual({
      apiVersion: "v1",
      kind,
    });
  },
);

test("replaces invalid UTF-8 with the replacement character, as upstream", () => {
  expect(protobufToJson(builtInSchema, pod("0a03 0a01 ff"))).toMatchObject({ metadata: { name: "\ufffd" } });
});

describe("refuses", () => {
  const podFails = 'Pod in version "v1" cannot be handled as a Pod: ';
  const unrecognized = "the object provided is unrecognized: ";
  const revisionOf = (json: string) =>
    envelope("apps/v1", "ControllerRevision", delimited(2, delimited(1, Buffer.from(json))));
  test.each<[string, Buffer, string]>([
    ["nothing", Buffer.alloc(0), `${unrecognized}provided data does not appear to be a protobuf message`],
    ["JSON", Buffer.from("{}"), `${unrecognized}provided data does not appear to be a protobuf message`],
    ["no kind", envelope("v1", "", Buffer.alloc(0)), `${unrecognized}its apiVersion or kind is missing`],
    ["a cut envelope", deployment.subarray(0, 40), `${unrecognized}premature EOF`],
    ["a cut string", pod("0a03 0a05 61"), `${podFails}premature EOF`],
    ["a field longer than its message", pod("0a03 0a05 6161616161"), `${podFails}unexpected EOF`],
    ["a message longer than the body", pod("0aff ffff ff0f"), `${podFails}premature EOF`],
    ["an endless number", pod(`0a0d 38${"ff".repeat(12)}`), `${podFails}invalid varint`],
    ["a number for a string", pod("0a02 0801"), `${podFails}proto: wrong wireType = 0 for field name`],
    [
      "packed numbers for one",
      pod("0a03 3a01 01"),
      `${podFails}proto: wrong wireType = 2 for field generation`,
    ],
    ["field zero", pod("0200"), `${podFails}illegal tag`],
    ["groups in groups", pod("7b".repeat(1000)), `${podFails}maximum recursion depth reached`],
    ["schemas in schemas without end", schemaOf(nested(28, 5_000)), "exceeded max depth"],
    ["properties in properties without end", schemaOf(nested(29, 5_000)), "exceeded max depth"],
    ["a limit that is not a number", schemaOf(limit(Number.NaN)), "json: unsupported value: NaN"],
    ["an infinite limit", schemaOf(limit(-Infinity)), "json: unsupported value: -Infinity"],
    ["no JSON where JSON must be", revisionOf("{"), "ControllerRevision in version"],
    ["JSON too deep", revisionOf("[".repeat(1e5) + "]".repeat(1e5)), "ControllerRevision in version"],
  ])("%s", (_, body, message) => {
    expect(() => protobufToJson(builtInSchema, body)).toThrow(message);
    expect(refusalOf(body)).toMatchObject({ code: 400, reason: "BadRequest" });
  });

  test("custom resources, whatever the body contains", () => {
    const schema: Schema = { ...builtInSchema, decode: () => undefined };
    expect(() => protobufToJson(schema, deployment)).toThrow(
      expect.objectContaining({ code: 415, reason: "UnsupportedMediaType" }),
    );
  });

  test("randomly damaged input, or decodes a value from it", () => {
    const bodies = [...Object.values(captured).map(({ body }) => body), everyField.protobuf].map(bytesOf);
    const edit = fc.record({ at: fc.nat(300), bytes: fc.uint8Array({ maxLength: 6 }), drop: fc.nat(4) });
    fc.assert(
      fc.property(
        fc.constantFrom(...bodies),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        (body, edits) => {
          const broken = edits.reduce(
            (bytes, { at, bytes: added, drop }) =>
              Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + drop)]),
            body,
          );
          const error = refusalOf(broken);
          return error === undefined || (error instanceof StatusError && error.code === 400);
        },
      ),
      { numRuns: rounds(500) },
    );
  });
});

function refusalOf(body: Buffer): unknown {
  try {
    JSON.stringify(protobufToJson(builtInSchema, body));
    return undefined;
  } catch (error) {
    return error;
  }
}

function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, "base64");
}

/** A definition whose only version has these bytes as its schema. */
function schemaOf(bytes: Uint8Array): Buffer {
  const version = delimited(7, delimited(4, delimited(1, bytes)));
  return envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", delimited(2, version));
}

/** Schemas in the field with this number: `not` (28) or, with an empty name, `properties` (29). */
function nested(number: number, depth: number): Uint8Array {
  let bytes: Uint8Array = Buffer.alloc(0);
  for (let i = 0; i < depth; i++) bytes = delimited(number, number === 29 ? delimited(2, bytes) : bytes);
  return bytes;
}

/** The `maximum` of a schema. */
function limit(value: number): Uint8Array {
  return new BinaryWriter().tag(9, WireType.Bit64).double(value).finish();
}

/** A pod of these bytes, in hexadecimal. */
function pod(hex: string): Buffer {
  return envelope("v1", "Pod", Buffer.from(hex.replaceAll(" ", ""), "hex"));
}

function envelope(apiVersion: string, kind: string, raw: Uint8Array): Buffer {
  const typeMeta = Buffer.concat([delimited(1, Buffer.from(apiVersion)), delimited(2, Buffer.from(kind))]);
  return Buffer.concat([Buffer.from("k8s\0"), delimited(1, typeMeta), delimited(2, raw)]);
}

function delimited(number: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
}
