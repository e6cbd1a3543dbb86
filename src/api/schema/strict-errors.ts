import { findDuplicateKeys } from "./find-duplicate-keys.ts";

/** What becomes of fields that the definition does not have, or that are there twice. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Upstream stops at a hundred as well. */
const maxErrors = 100;

/** `unknown field "spec.foo"`, `duplicate field "metadata.name"`: nothing when nobody wants to know. */
export function listStrictErrors(
  body: { unknownFields: readonly string[]; text?: string; value?: unknown },
  fieldValidation: FieldValidation,
): string[] {
  if (fieldValidation === "Ignore") return [];
  const duplicates = body.text === undefined ? [] : findDuplicateKeys(body.text, body.value);
  return [
    ...body.unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`),
    ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
  ].slice(0, maxErrors);
}

export function strictDecodingError(errors: readonly string[]): string {
  return `strict decoding error: ${errors.join(", ")}`;
}
