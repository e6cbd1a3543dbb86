import { CST, Lexer, parse } from "yaml";
import { badRequest, unsupportedMediaType } from "../../api/meta/status-error.ts";
import type { Schema } from "../../api/schema/schema.ts";
import { messageOf } from "../../lib/message-of.ts";

/**
 * Maximum number of tokens. The parser takes tens of microseconds for each and blocks the event loop. A line has about
 * six tokens, a text block one: manifests are far below the limit.
 */
const maxTokens = 25_000;
/** Maximum nesting. The parser is recursive: deeper input would exhaust the stack. */
const maxDepth = 200;

/** Converts a YAML document to JSON text. */
export function yamlToJson(text: string): string {
  checkSize(text);
  try {
    // A few lines of aliases can expand to gigabytes; checking for equal keys and pretty errors take quadratic time.
    const value = parse(text, {
      maxAliasCount: 100,
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "error",
    });
    return JSON.stringify(value ?? null);
  } catch (error) {
    throw refused(messageOf(error));
  }
}

/** Rejects text that is too long or too deep, without reading the rest of it. */
function checkSize(text: string): void {
  let tokens = 0;
  let brackets = 0;
  /** Levels that the current line opens: its indentation and the `- ` and `? ` in it. */
  let opened = 0;
  let lineStart = true;
  for (const token of new Lexer().lex(text)) {
    if (++tokens > maxTokens) throw refused("it is too large; send it as JSON");
    switch (CST.tokenType(token)) {
      case "flow-map-start":
      case "flow-seq-start":
        brackets++;
        break;
      case "flow-map-end":
      case "flow-seq-end":
        brackets--;
        break;
      case "seq-item-ind":
      case "explicit-key-ind":
        opened++;
        break;
      case "newline":
        opened = 0;
        lineStart = true;
        continue;
      case "space":
        if (lineStart) opened += token.length;
        break;
    }
    lineStart = false;
    if (brackets + opened > maxDepth) throw refused("exceeded max depth");
  }
}

function refused(reason: string) {
  return badRequest(`error converting YAML to JSON: ${reason}`);
}

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
