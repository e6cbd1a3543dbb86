import { FieldErrors } from "../../../api/meta/field-errors.ts";
import { badRequest } from "../../../api/meta/status-error.ts";
import { applyMediaType } from "../../../api/patch/apply-patch.ts";
import { assertDepth, isJsonObject, type JsonObject } from "../../../api/schema/json-object.ts";
import { messageOf } from "../../../lib/message-of.ts";
import type { ApiRequest } from "../../request/api-request.ts";
import { isTrue } from "../../request/request-info.ts";
import { rejectInvalid } from "./read-options.ts";

export interface ApplyOptions {
  readonly manager: string;
  readonly force: boolean;
  /** Keys that the body contains more than once in a map: `line 9: key "foo" already set in map`. */
  readonly duplicates: readonly string[];
}

export function isApplyPatch({ headers }: ApiRequest): boolean {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim() === applyMediaType;
}

/** Parses the options and the body of an apply request. The body is YAML or JSON. */
export async function readApplyPatch(
  request: ApiRequest,
): Promise<ApplyOptions & { readonly configuration: JsonObject }> {
  const manager = request.query.get("fieldManager") ?? "";
  if (!manager) {
    const at = new FieldErrors("");
    at.required("fieldManager", "is required for apply patch");
    rejectInvalid("PatchOptions", at);
  }
  const text = (await request.readBody()).toString();
  const { readYaml } = await import("../../request/yaml-to-json.ts");
  const { json, duplicates } = text.trimStart().startsWith("{")
    ? { json: text, duplicates: [] }
    : readYaml(text);
  const configuration = parseConfiguration(json);
  return { manager, force: isTrue(request.query.get("force")), configuration, duplicates };
}

function parseConfiguration(text: string): JsonObject {
  try {
    const configuration: unknown = JSON.parse(text);
    assertDepth(configuration);
    if (isJsonObject(configuration)) return configuration;
  } catch (error) {
    throw badRequest(`error decoding YAML: ${messageOf(error)}`);
  }
  throw badRequest("error decoding YAML: the configuration is not an object");
}
