import {
  create,
  createFileRegistry,
  type DescMessage,
  fromJson,
  type JsonValue,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  type FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

type Field = readonly [name: string, number: number, type: Type | string, repeated?: "repeated"];

/** The published messages of a trace request, with their field numbers (opentelemetry-proto, trace/v1). */
const messages: Readonly<Record<string, readonly Field[]>> = {
  ExportTraceServiceRequest: [["resource_spans", 1, "ResourceSpans", "repeated"]],
  ResourceSpans: [
    ["resource", 1, "Resource"],
    ["scope_spans", 2, "ScopeSpans", "repeated"],
    ["schema_url", 3, Type.STRING],
  ],
  Resource: [["attributes", 1, "KeyValue", "repeated"]],
  ScopeSpans: [
    ["scope", 1, "InstrumentationScope"],
    ["spans", 2, "Span", "repeated"],
    ["schema_url", 3, Type.STRING],
  ],
  InstrumentationScope: [
    ["name", 1, Type.STRING],
    ["version", 2, Type.STRING],
    ["attributes", 3, "KeyValue", "repeated"],
  ],
  Span: [
    ["trace_id", 1, Type.BYTES],
    ["span_id", 2, Type.BYTES],
    ["trace_state", 3, Type.STRING],
    ["parent_span_id", 4, Type.BYTES],
    ["name", 5, Type.STRING],
    ["kind", 6, "SpanKind"],
    ["start_time_unix_nano", 7, Type.FIXED64],
    ["end_time_unix_nano", 8, Type.FIXED64],
    ["attributes", 9, "KeyValue", "repeated"],
    ["dropped_attributes_count", 10, Type.UINT32],
    ["status", 15, "Status"],
    ["flags", 16, Type.FIXED32],
  ],
  Status: [
    ["message", 2, Type.STRING],
    ["code", 3, "StatusCode"],
  ],
  KeyValue: [
    ["key", 1, Type.STRING],
    ["value", 2, "AnyValue"],
  ],
  AnyValue: [
    ["string_value", 1, Type.STRING],
    ["bool_value", 2, Type.BOOL],
    ["int_value", 3, Type.INT64],
    ["double_value", 4, Type.DOUBLE],
  ],
};

const enums: Readonly<Record<string, readonly string[]>> = {
  SpanKind: ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"],
  StatusCode: ["UNSET", "OK", "ERROR"],
};

function describeField(
  message: string,
  [name, number, type, repeated]: Field,
): MessageInitShape<typeof FieldDescriptorProtoSchema> {
  const jsonName = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const field = { name, jsonName, number, label: repeated ? Label.REPEATED : Label.OPTIONAL };
  if (typeof type === "string")
    return { ...field, type: type in enums ? Type.ENUM : Type.MESSAGE, typeName: `.otlp.${type}` };
  return { ...field, type, ...(message === "AnyValue" && { oneofIndex: 0 }) };
}

const file = create(FileDescriptorProtoSchema, {
  name: "otlp.proto",
  package: "otlp",
  syntax: "proto3",
  messageType: Object.entries(messages).map(([name, fields]) => ({
    name,
    field: fields.map((field) => describeField(name, field)),
    ...(name === "AnyValue" && { oneofDecl: [{ name: "value" }] }),
  })),
  enumType: Object.entries(enums).map(([name, values]) => ({
    name,
    value: values.map((value, number) => ({ name: `${name}_${value}`, number })),
  })),
});

const request = createFileRegistry(file, () => undefined).getMessage("otlp.ExportTraceServiceRequest");

/** Ids and their lengths: OTLP encodes them as hexadecimal, unlike the JSON mapping of protocol buffers. */
const ids: Readonly<Record<string, number>> = { traceId: 16, spanId: 8, parentSpanId: 8 };

/** Parses a body as a collector does and rejects names, types, ids and enum names that the mapping does not allow. */
export function parseOtlp(body: string): object {
  return fromJson(request as DescMessage, withBytes(JSON.parse(body)));
}

function withBytes(value: JsonValue, key = ""): JsonValue {
  if (Array.isArray(value)) return value.map((each) => withBytes(each));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withBytes(each, name)]));
  }
  const length = ids[key];
  if (length !== undefined) {
    if (typeof value !== "string" || !new RegExp(`^[0-9a-f]{${length * 2}}$`).test(value))
      throw new Error(`${key}: ${JSON.stringify(value)} is not ${length} bytes in hexadecimal`);
    return Buffer.from(value, "hex").toString("base64");
  }
  if (/UnixNano$|^intValue$/.test(key) && (typeof value !== "string" || !/^-?\d+$/.test(value)))
    throw new Error(`${key}: ${JSON.stringify(value)} is not a whole number as text`);
  if ((key === "kind" || key === "code") && typeof value !== "number")
    throw new Error(`${key}: ${JSON.stringify(value)} is not the number of an enum's value`);
  if (typeof value === "string" && /[\ud800-\udfff]/u.test(value))
    throw new Error(`${key}: an unpaired surrogate cannot be encoded as UTF-8`);
  return value;
}
