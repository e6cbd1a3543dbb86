import { unsupportedMediaType } from "../../api/status-error.ts";

/** The body of a create or update as JSON text, whichever of the three syntaxes it came in. */
export async function bodyAsJson(body: Buffer, contentType: string | undefined): Promise<string> {
  const mediaType = mediaTypeOf(contentType);
  if (mediaType === "application/json") return body.toString();
  if (mediaType === "application/yaml") return yamlAsJson(body.toString());
  if (mediaType === "application/vnd.kubernetes.protobuf") return protobufAsJson(body);
  throw unsupportedMediaType(
    "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  );
}

/** `application/json; charset=utf-8` without its parameters; JSON where nothing is said. */
function mediaTypeOf(contentType: string | undefined): string {
  if (!contentType) return "application/json";
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

async function yamlAsJson(text: string): Promise<string> {
  // Few clients send YAML: what reads it is loaded for the first of them.
  const { yamlToJson } = await import("./yaml-to-json.ts");
  return yamlToJson(text);
}

async function protobufAsJson(body: Buffer): Promise<string> {
  // Of our clients only kubectl sends it: what reads it is loaded for the first such body.
  const { protobufToJson } = await import("../../api/protobuf/protobuf-to-json.ts");
  return JSON.stringify(protobufToJson(body));
}
