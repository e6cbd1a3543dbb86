import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFoundValue,
  notSupported,
  required,
  tooLong,
  tooMany,
} from "../field-error.ts";

/** Nobody reads more, and a hostile object could have hundreds of thousands. */
const maxErrors = 1_000;

/**
 * Collects what is wrong with an object, seen from one of its fields. Validators take a value and the report for
 * it. Most objects are valid: paths are only put together when something is wrong.
 *
 * Fields are named relative to the report: `name`, `ports[0].name`, `[key]`, and `""` for the field itself.
 */
export class Report {
  readonly errors: FieldError[];
  private readonly field: string;
  private readonly index: number | undefined;
  private readonly parent: Report | undefined;

  constructor(field: string, errors: FieldError[] = [], place?: { parent: Report; index?: number }) {
    this.errors = errors;
    this.field = field;
    this.parent = place?.parent;
    this.index = place?.index;
  }

  get path(): string {
    const own = this.index === undefined ? this.field : `${this.field}[${this.index}]`;
    return this.parent ? this.parent.pathOf(own) : own;
  }

  child(field: string): Report {
    return new Report(field, this.errors, { parent: this });
  }

  /** Calls `check` with each item of a list and its report. */
  each<T>(field: string, items: readonly T[] | undefined, check: (item: T, at: Report) => void): void {
    if (!items) return;
    let index = 0;
    for (const item of items) check(item, new Report(field, this.errors, { parent: this, index: index++ }));
  }

  required(field: string, detail?: string): void {
    this.add(field, (path) => required(path, detail));
  }

  invalid(field: string, value: unknown, detail: string): void {
    this.add(field, (path) => invalid(path, value, detail));
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

  /** One `Invalid value` for each problem. What was left out is shown as an empty text. */
  problems(field: string, value: unknown, problems: readonly string[]): void {
    for (const problem of problems) this.invalid(field, value ?? "", problem);
  }

  requireFields<T extends object>(value: T, fields: readonly (keyof T & string)[]): void {
    for (const field of fields) if (isMissing(value[field])) this.required(field);
  }

  /** Nothing, or one of the allowed values. */
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
