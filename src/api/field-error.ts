/** One thing that is wrong with one field of an object, worded as upstream words it. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name` */
  readonly field: string;
  /** The whole sentence without the field: `Required value`, `Invalid value: "x": must be …`. */
  readonly message: string;
}

/** The reasons of `StatusCause`, as upstream spells them. */
type FieldErrorType =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueDuplicate"
  | "FieldValueNotFound"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid"
  | "InternalError";

export function required(field: string, detail = ""): FieldError {
  return { type: "FieldValueRequired", field, message: withDetail("Required value", detail) };
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return {
    type: "FieldValueInvalid",
    field,
    message: withDetail(`Invalid value: ${showValue(value)}`, detail),
  };
}

export function duplicate(field: string, value: unknown, detail = ""): FieldError {
  const message = withDetail(`Duplicate value: ${showValue(value)}`, detail);
  return { type: "FieldValueDuplicate", field, message };
}

export function notFoundValue(field: string, value: unknown, detail = ""): FieldError {
  return { type: "FieldValueNotFound", field, message: withDetail(`Not found: ${showValue(value)}`, detail) };
}

/** What is supported is named in the order given, which is upstream's: some of its lists are sorted, some are not. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((item) => JSON.stringify(item)).join(", ");
  return {
    type: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${showValue(value)}: supported values: ${list}`,
  };
}

export function forbidden(field: string, detail: string): FieldError {
  return { type: "FieldValueForbidden", field, message: withDetail("Forbidden", detail) };
}

export function tooLong(field: string, maxBytes: number): FieldError {
  return { type: "FieldValueTooLong", field, message: `Too long: may not be more than ${maxBytes} bytes` };
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  const items = max === 1 ? "1 item" : `${max} items`;
  return { type: "FieldValueTooMany", field, message: `Too many: ${actual}: must have at most ${items}` };
}

function withDetail(head: string, detail: string): string {
  return detail ? `${head}: ${detail}` : head;
}

/** Values in messages: strings and numbers as JSON, whole objects as JSON too. */
function showValue(value: unknown): string {
  return value === undefined ? "null" : JSON.stringify(value);
}
