import { unsupportedMediaType } from "../../api/meta/status-error.ts";
import type { Schema } from "../../api/schema/schema.ts";

/** Body of a create or update as JSON text. Accepts JSON, YAML and protobuf; the schema describes protobuf messages. */
export async function bodyAsJson(
  body: Buffer,
  contentType: string | undefined,
  schema: Schema,
): Promise<string> {
  const mediaType = mediaTypeOf(contentType);
  if (mediaType === "application/json") return body.toString();
  if (mediaType === "application/yaml") return yamlAsJson(body.toString());
  if (mediaType === "application/vnd.kubernetes.protobuf") return protobufAsJson(body, schema);
  throw unsupportedMediaType(
    "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  );
}

/** `application/json; charset=utf-8` without its parameters. Default: JSON. */
function mediaTypeOf(contentType: string | undefined): string {
  if (!contentType) return "application/json";
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

async function yamlAsJson(text: string): Promise<string> {
  // Loaded on first use: few clients send YAML.
  const { yamlToJson } = await import("./yaml-to-json.ts");
  return yamlToJson(text);
}

async function protobufAsJson(body: Buffer, schema: Schema): Promise<string> {
  // Loaded on first use: only kubectl sends protobuf.
  const { protobufToJson } = await import("../../api/schema/protobuf/protobuf-to-json.ts");
  return JSON.stringify(protobufToJson(schema, body));
}
