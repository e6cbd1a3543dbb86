import { invalid } from "../meta/field-errors.ts";
import type { KubeObject } from "../meta/objects.ts";
import {
  badRequest,
  invalidObject,
  requestTooLarge,
  StatusError,
  unsupportedMediaType,
} from "../meta/status-error.ts";
import { decodeObject } from "../schema/decode.ts";
import type { DecodedBody } from "../schema/decode-body.ts";
import { DecodeError, goSyntaxError, jsonKind } from "../schema/decode-error.ts";
import { assertDepth, isJsonObject, type JsonObject } from "../schema/json-object.ts";
import type { Schema } from "../schema/schema.ts";
import { type FieldValidation, listStrictErrors, strictDecodingError } from "../schema/strict-errors.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { formatGo, PatchError } from "./patch-error.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

/** Parsed patch. It can be applied to several versions of an object when there are concurrent writes. */
export type Patch = PatchBody & {
  readonly fieldValidation: FieldValidation;
  /** Errors of strict field validation, which are warnings in other modes. */
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

/** Media type of server-side apply, which is not a patch of this module. */
export const applyMediaType = "application/apply-patch+yaml";

const patchMediaTypes: readonly string[] = [...patchTypes.keys(), applyMediaType];
const customPatchMediaTypes = patchMediaTypes.filter((type) => patchTypes.get(type) !== "strategic");

/**
 * Media types of patches for kinds of a schema. Strategic merge patches need the merge keys of Go types, which custom
 * resources do not have.
 */
export function patchMediaTypesOf({ decode }: Pick<Schema, "decode">): readonly string[] {
  return decode ? customPatchMediaTypes : patchMediaTypes;
}

/** Parses a patch. Throws 415 for an unsupported content type and 400 for an invalid body. */
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

/** The definition of the patched object, and the schema that contains it. */
interface PatchTarget {
  readonly schema: Schema;
  readonly definition: string;
}

/**
 * Returns the patched object, decoded like a new one. Does not change `current`. Throws 400 or 422 with upstream's
 * messages, and 413 for a patch with too many operations.
 */
export function applyPatch<T = KubeObject>(
  patch: Patch,
  target: PatchTarget,
  current: object,
): DecodedBody<T> {
  try {
    const patched = patchedBy(patch, target, current as JsonObject);
    const { object, unknownFields } = decodePatched(patch, target, patched);
    const errors = [...patch.strictErrors, ...listStrictErrors({ unknownFields }, patch.fieldValidation)];
    if (patch.fieldValidation === "Strict" && errors.length > 0) {
      throw invalidPatch(patch, patched, strictDecodingError(errors));
    }
    return { object: object as T, warnings: errors };
  } catch (error) {
    throw toStatusError(error);
  }
}

function patchedBy(patch: Patch, { schema, definition }: PatchTarget, current: JsonObject): unknown {
  switch (patch.type) {
    case "json":
      return applyJsonPatch(current, patch.value);
    case "merge":
      return applyMergePatch(current, patch.value);
    case "strategic":
      return applyStrategicMergePatch(schema, definition, current, patch.value);
  }
}

function decodePatched(patch: Patch, { schema, definition }: PatchTarget, patched: unknown) {
  try {
    return decodeObject(schema, definition, patched);
  } catch (error) {
    if (error instanceof DecodeError) throw invalidPatch(patch, patched, error.message);
    throw error;
  }
}

/** Upstream's message contains a strategic patch itself, and for other patches the patched object. */
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
      // Upstream's message does not contain the reason.
      return new StatusError(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        {},
      );
  }
}

/**
 * Applies a merge patch (RFC 7386): objects are merged, null removes, other values replace. Does not change its
 * arguments.
 */
export function applyMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(target));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(key);
      continue;
    }
    const current = merged.get(key);
    merged.set(
      key,
      isJsonObject(current) && isJsonObject(value) ? applyMergePatch(current, value) : withoutNulls(value),
    );
  }
  // fromEntries defines keys instead of assigning them, so that __proto__ is an ordinary key.
  return Object.fromEntries(merged);
}

/** Removes nulls from a value without a counterpart; like upstream, also in lists. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== null)
      .map(([key, child]) => [key, withoutNulls(child)]),
  );
}
