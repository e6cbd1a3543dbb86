/** Limit for the number of errors: a hostile object could have hundreds of thousands. */
const maxErrors = 1_000;

/**
 * Collects the errors of an object, relative to one of its fields. Validators take a value and the FieldErrors for it.
 * Most objects are valid, so paths are built only for errors. Fields are relative: `name`, `ports[0].name`, `[key]`,
 * and `""` for the field itself.
 */
export class FieldErrors {
  readonly errors: FieldError[];
  private readonly field: string;
  private readonly index: number | undefined;
  private readonly parent: FieldErrors | undefined;

  constructor(field: string, errors: FieldError[] = [], place?: { parent: FieldErrors; index?: number }) {
    this.errors = errors;
    this.field = field;
    this.parent = place?.parent;
    this.index = place?.index;
  }

  get path(): string {
    const own = this.index === undefined ? this.field : `${this.field}[${this.index}]`;
    return this.parent ? this.parent.pathOf(own) : own;
  }

  child(field: string): FieldErrors {
    return new FieldErrors(field, this.errors, { parent: this });
  }

  /** Calls `check` with each item of a list and the FieldErrors for it. */
  each<T>(field: string, items: readonly T[] | undefined, check: (item: T, at: FieldErrors) => void): void {
    if (!items) return;
    let index = 0;
    for (const item of items)
      check(item, new FieldErrors(field, this.errors, { parent: this, index: index++ }));
  }

  required(field: string, detail?: string): void {
    this.add(field, (path) => required(path, detail));
  }

  invalid(field: string, value: unknown, detail: string): void {
    this.add(field, (path) => invalid(path, value, detail));
  }

  /** As `invalid`, for a value that the message does not show. */
  invalidWithoutValue(field: string, detail: string): void {
    this.add(field, (path) => ({
      type: "FieldValueInvalid",
      field: path,
      message: `Invalid value: ${detail}`,
    }));
  }

  /** As `invalid`, for a value of the wrong type. */
  typeInvalid(field: string, value: unknown, detail: string): void {
    this.add(field, (path) => ({ ...invalid(path, value, detail), type: "FieldValueTypeInvalid" }));
  }

  forbidden(field: string, detail: string): void {
    this.add(field, (path) => forbidden(path, detail));
  }

  duplicate(field: string, value: unknown, detail?: string): void {
    this.add(field, (path) => duplicate(path, value, detail));
  }

  notFound(field: string, value: unknown, detail?: string): void {
    this.add(field, (path) => notFoundValue(path, value, detail));
  }

  notSupported(field: string, value: unknown, supported: readonly string[]): void {
    this.add(field, (path) => notSupported(path, value, supported));
  }

  tooLong(field: string, maxBytes: number): void {
    this.add(field, (path) => tooLong(path, maxBytes));
  }

  tooMany(field: string, actual: number, max: number): void {
    this.add(field, (path) => tooMany(path, actual, max));
  }

  internal(field: string, detail: string): void {
    this.add(field, (path) => ({
      type: "InternalError",
      field: path,
      message: `Internal error: ${detail}`,
    }));
  }

  /** Adds an `Invalid value` error for each problem. A missing value is shown as an empty string. */
  problems(field: string, value: unknown, problems: readonly string[]): void {
    for (const problem of problems) this.invalid(field, value ?? "", problem);
  }

  requireFields<T extends object>(value: T, fields: readonly (keyof T & string)[]): void {
    for (const field of fields) if (isMissing(value[field])) this.required(field);
  }

  /** Checks that an optional value is one of the allowed ones. */
  oneOf(field: string, value: string | undefined, allowed: readonly string[]): void {
    if (value !== undefined && !allowed.includes(value)) this.notSupported(field, value, allowed);
  }

  requiredOneOf(field: string, value: string | undefined, allowed: readonly string[]): void {
    if (!value) this.required(field);
    else this.oneOf(field, value, allowed);
  }

  nonNegative(field: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, "must be greater than or equal to 0");
  }

  positive(field: string, value: number): void {
    if (value <= 0) this.invalid(field, value, "must be greater than zero");
  }

  private add(field: string, make: (path: string) => FieldError): void {
    if (this.errors.length < maxErrors) this.errors.push(make(this.pathOf(field)));
  }

  private pathOf(field: string): string {
    const { path } = this;
    if (field === "") return path;
    return path === "" || field.startsWith("[") ? path + field : `${path}.${field}`;
  }
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

/** Error of one field of an object, in the words of upstream. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name` */
  readonly field: string;
  /** Message without the field: `Required value`, `Invalid value: "x": must be …`. */
  readonly message: string;
}

/** Reasons of `StatusCause`. */
export type FieldErrorType =
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

function duplicate(field: string, value: unknown, detail = ""): FieldError {
  const message = withDetail(`Duplicate value: ${showValue(value)}`, detail);
  return { type: "FieldValueDuplicate", field, message };
}

function notFoundValue(field: string, value: unknown, detail = ""): FieldError {
  return { type: "FieldValueNotFound", field, message: withDetail(`Not found: ${showValue(value)}`, detail) };
}

/** Error that lists the supported values in the given order. Upstream sorts some of its lists and not others. */
function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
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

function tooLong(field: string, maxBytes: number): FieldError {
  return { type: "FieldValueTooLong", field, message: `Too long: may not be more than ${maxBytes} bytes` };
}

function tooMany(field: string, actual: number, max: number): FieldError {
  const items = max === 1 ? "1 item" : `${max} items`;
  return { type: "FieldValueTooMany", field, message: `Too many: ${actual}: must have at most ${items}` };
}

function withDetail(head: string, detail: string): string {
  return detail ? `${head}: ${detail}` : head;
}

/** Formats a value for a message as JSON. */
function showValue(value: unknown): string {
  return value === undefined ? "null" : JSON.stringify(value);
}
