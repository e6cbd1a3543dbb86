import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { configKeyProblems } from "../../../meta/names.ts";
import type { ConfigMap } from "../../../meta/objects.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

const strategy: Strategy<ConfigMap> = {
  validate: validateConfigMap,
  validateUpdate: validateConfigMapUpdate,
};

export const configMapKind = defineKind<ConfigMap>({
  resource: { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", shortNames: ["cm"] },
  strategy,
  columns: [
    nameColumn,
    column(
      "Data",
      "Number of entries",
      ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
    ),
    ageColumn,
  ],
});

/** Maximum size of the data of a ConfigMap or Secret. */
export const maxDataBytes = 1024 * 1024;

function validateConfigMap({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const at = new FieldErrors("");
  let bytes = 0;
  for (const key in data) {
    at.problems(`data[${key}]`, key, configKeyProblems(key));
    if (Object.hasOwn(binaryData, key)) {
      at.invalid(`data[${key}]`, key, "duplicate of key present in binaryData");
    }
    bytes += Buffer.byteLength(data[key] ?? "");
  }
  for (const key in binaryData) {
    at.problems(`binaryData[${key}]`, key, configKeyProblems(key));
    bytes += Buffer.byteLength(binaryData[key] ?? "", "base64");
  }
  // Upstream prints the path of the object as a whole like this.
  if (bytes > maxDataBytes) at.tooLong("[]", maxDataBytes);
  return at.errors;
}

function validateConfigMapUpdate(next: ConfigMap, current: ConfigMap): FieldError[] {
  const at = new FieldErrors("");
  if (current.immutable) validateImmutableData(next, current, at, ["data", "binaryData"]);
  return [...at.errors, ...validateConfigMap(next)];
}

/** Rejects changes of the given fields and of `immutable` itself. */
export function validateImmutableData<T extends { immutable?: boolean }>(
  next: T,
  current: T,
  at: FieldErrors,
  fields: readonly (keyof T & string)[],
): void {
  const detail = "field is immutable when `immutable` is set";
  if (!next.immutable) at.forbidden("immutable", detail);
  for (const field of fields) if (!isEqual(next[field], current[field])) at.forbidden(field, detail);
}
