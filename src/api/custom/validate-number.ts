import type { FieldErrors } from "../meta/field-errors.ts";
import type { OpenApiSchema } from "./open-api-schema.ts";

/** Errors of a number: range of its format, minimum, maximum and multipleOf. */
export function validateNumber(
  value: number,
  path: string,
  schema: OpenApiSchema,
): ((at: FieldErrors) => void)[] {
  const reports: ((at: FieldErrors) => void)[] = [];
  const invalid = (detail: string) =>
    reports.push((at) => at.invalid(path, value, `${path} in body should be ${detail}`));
  const format = schema.format && Object.hasOwn(ranges, schema.format) ? schema.format : undefined;
  const range = ranges[format ?? "int64"] ?? 0;
  if (schema.type === "integer" && (value >= range || value < -range || !Number.isInteger(value))) {
    const described = format ? `with format ${format}` : "(default format)";
    const detail = `Checked value must be of type integer ${described} in ${path}`;
    reports.push((at) => at.invalid(at.path ? "" : "<nil>", "", detail));
  }
  const { multipleOf, maximum, exclusiveMaximum, minimum, exclusiveMinimum } = schema;
  // As upstream, the bounds of an integer are integers.
  const bound = (limit: number) => (Number.isInteger(value) ? Math.trunc(limit) : limit);
  if (multipleOf !== undefined && !isMultiple(value, bound(multipleOf)))
    invalid(`a multiple of ${formatGoNumber(multipleOf)}`);
  if (maximum !== undefined) {
    const limit = bound(maximum);
    if (exclusiveMaximum && value >= limit) invalid(`less than ${formatGoNumber(limit)}`);
    if (!exclusiveMaximum && value > limit) invalid(`less than or equal to ${formatGoNumber(limit)}`);
  }
  if (minimum !== undefined) {
    const limit = bound(minimum);
    if (exclusiveMinimum && value <= limit) invalid(`greater than ${formatGoNumber(limit)}`);
    if (!exclusiveMinimum && value < limit) invalid(`greater than or equal to ${formatGoNumber(limit)}`);
  }
  return reports;
}

const ranges: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 };

function isMultiple(value: number, factor: number): boolean {
  if (factor <= 0) return false;
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
}

/** Number as Go's `%v` formats it: with an exponent below 0.0001 and from 1e21 on. */
function formatGoNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 1e-4) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}
