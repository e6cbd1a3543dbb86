import { invalid } from "../field-error.ts";
import type { KubeObject } from "../objects.ts";
import { assertDepth } from "../schema/assert-depth.ts";
import { decodeObject } from "../schema/decode.ts";
import type { DecodedBody } from "../schema/decode-body.ts";
import { DecodeError, jsonKind } from "../schema/decode-error.ts";
import { goSyntaxError } from "../schema/go-syntax-error.ts";
import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { type FieldValidation, listStrictErrors, strictDecodingError } from "../schema/strict-errors.ts";
import {
  badRequest,
  invalidObject,
  requestTooLarge,
  StatusError,
  unsupportedMediaType,
} from "../status-error.ts";
import { formatGo } from "./format-go.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { PatchError } from "./patch-error.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

/** A patch that has been read once; it may be applied to several versions of an object, when others write it too. */
export type Patch = PatchBody & {
  readonly fieldValidation: FieldValidation;
  /** What is worth a warning, or fails a strict request, whatever the object is. */
  readonly strictErrors: readonly string[];
};

type PatchBody =
  | { readonly type: "json"; readonly value: unknown[] }
  | { readonly type: "merge" | "strategic"; readonly value: JsonObject };

const patchTypes = new Map<string, Patch["type"]>([
  ["application/json-patch+json", "json"],
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
]);

export const patchMediaTypes: readonly string[] = [...patchTypes.keys()];

/** Throws 415 for a content type that is no patch and 400 for what is no patch of its type. */
export function parsePatch(
  contentType: string,
  text: string,
  { fieldValidation }: { fieldValidation: FieldValidation },
): Patch {
  const type = patchTypes.get(contentType.split(";", 1)[0]?.trim() ?? "");
  if (!type) {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${patchMediaTypes.join(", ")}`,
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    assertDepth(value);
    const unknownFields = type === "json" ? unknownOperationFields(value) : [];
    const strictErrors = listStrictErrors({ unknownFields, text, value }, fieldValidation);
    const prefix = type === "json" ? "json patch " : "";
    return {
      ...bodyOf(type, value),
      fieldValidation,
      strictErrors: strictErrors.map((error) => prefix + error),
    };
  } catch (error) {
    if (error instanceof SyntaxError) throw undecodable(type, goSyntaxError(error, text));
    throw toStatusError(error);
  }
}

function bodyOf(type: Patch["type"], value: unknown): PatchBody {
  if (type === "json" && Array.isArray(value)) return { type, value };
  if (type !== "json" && isJsonObject(value)) return { type, value };
  const target = type === "json" ? "[]handlers.jsonPatchOp" : "map[string]interface {}";
  throw undecodable(type, `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${target}`);
}

function undecodable(type: Patch["type"], reason: string): StatusError {
  return badRequest(type === "strategic" ? reason : `error decoding patch: ${reason}`);
}

function unknownOperationFields(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((operation, i) =>
    Object.keys(isJsonObject(operation) ? operation : {})
      .filter((key) => !["op", "path", "from", "value"].includes(key))
      .map((key) => `[${i}].${key}`),
  );
}

/**
 * Gives the patched object, checked and cleaned as a new one would be. `current` is not changed. Throws 400 or 422 with
 * upstream's messages, and 413 for a patch of too many operations.
 */
export function applyPatch<T = KubeObject>(
  patch: Patch,
  definition: string,
  current: object,
): DecodedBody<T> {
  const target = current as JsonObject;
  try {
    const patched = patchedBy(patch, definition, target);
    const { object, unknownFields } = decodePatched(patch, definition, patched);
    const errors = [...patch.strictErrors, ...listStrictErrors({ unknownFields }, patch.fieldValidation)];
    if (patch.fieldValidation === "Strict" && errors.length > 0) {
      throw invalidPatch(patch, patched, strictDecodingError(errors));
    }
    return { object: object as T, warnings: errors };
  } catch (error) {
    throw toStatusError(error);
  }
}

function patchedBy(patch: Patch, definition: string, target: JsonObject): unknown {
  switch (patch.type) {
    case "json":
      return applyJsonPatch(target, patch.value);
    case "merge":
      return applyMergePatch(target, patch.value);
    case "strategic":
      return applyStrategicMergePatch(definition, target, patch.value);
  }
}

function decodePatched(patch: Patch, definition: string, patched: unknown) {
  try {
    return decodeObject(definition, patched);
  } catch (error) {
    if (error instanceof DecodeError) throw invalidPatch(patch, patched, error.message);
    throw error;
  }
}

/** Upstream shows a strategic patch itself, and for the others what they made of the object. */
function invalidPatch(patch: Patch, patched: unknown, detail: string): StatusError {
  const shown = patch.type === "strategic" ? formatGo(patch.value) : JSON.stringify(patched);
  return invalidObject({ group: "", kind: "" }, "", [invalid("patch", shown, detail)]);
}

function toStatusError(error: unknown): unknown {
  if (error instanceof DecodeError) return badRequest(error.message);
  if (!(error instanceof PatchError)) return error;
  switch (error.kind) {
    case "malformed":
      return badRequest(error.message);
    case "tooLarge":
      return requestTooLarge(error.message);
    case "doesNotApply":
      // Upstream keeps the reason to itself.
      return new StatusError(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        {},
      );
  }
}
