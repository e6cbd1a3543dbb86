import type { FieldErrors } from "../../api/meta/field-errors.ts";
import { parseQuantity, QuantityError, wholeUnits } from "../../api/meta/quantity.ts";
import { closestName } from "../../lib/closest-name.ts";
import { formatGoDuration, parseGoDuration } from "../../lib/go-duration.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import { type ConfigurationFieldName, configurationFields } from "./configuration-fields.ts";

type Mapping = Readonly<Record<string, unknown>>;

interface Range {
  readonly min?: number;
  readonly max?: number;
  /** Whether zero means the default, as upstream: other tools write zeros for unset fields. */
  readonly zeroIsDefault?: boolean;
}

/**
 * Typed access to the fields of a configuration file. A missing field has its default; an invalid one is reported and
 * read as a harmless value, so that all problems are found in one pass.
 */
export interface FieldReader {
  isSet(name: ConfigurationFieldName): boolean;
  /** Unchecked value; undefined for a missing field without a default. */
  raw(name: ConfigurationFieldName): unknown;
  flag(name: ConfigurationFieldName): boolean;
  text(name: ConfigurationFieldName): string;
  oneOf<T extends string>(name: ConfigurationFieldName, allowed: readonly [T, ...T[]]): T;
  integer(name: ConfigurationFieldName, range?: Range): number;
  durationMs(name: ConfigurationFieldName, range?: Range): number;
  bytes(name: ConfigurationFieldName, range?: Range): number;
  texts(name: ConfigurationFieldName): readonly string[];
  mapping(name: ConfigurationFieldName): Mapping;
}

const defaults = new Map<string, unknown>(
  configurationFields.map((field) => [field.name, "default" in field ? field.default : undefined]),
);
const names = [...defaults.keys()];

export function createFieldReader(file: Mapping, at: FieldErrors): FieldReader {
  const given = (name: string): unknown => {
    let value: unknown = file;
    for (const part of name.split(".")) value = isMapping(value) ? own(value, part) : undefined;
    return value ?? undefined;
  };
  const raw = (name: ConfigurationFieldName) => given(name) ?? defaults.get(name);

  function read<T>(name: ConfigurationFieldName, parse: (value: unknown) => T | undefined, wanted: string) {
    const parsed = parse(raw(name));
    if (parsed === undefined) at.invalid(name, raw(name), `must be ${wanted}`);
    return parsed;
  }

  function amount(name: ConfigurationFieldName, range: Range, unit: Unit): number {
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = range;
    const value = unit.parse(raw(name));
    if (value === 0 && range.zeroIsDefault) return unit.parse(defaults.get(name)) ?? 0;
    if (value !== undefined && value >= min && value <= max) return value;
    at.invalid(name, raw(name), `must be ${unit.wanted}${describeRange(range, unit)}`);
    return 0;
  }

  return {
    isSet: (name) => given(name) !== undefined,
    raw,
    flag: (name) => read(name, asFlag, "true or false") ?? false,
    text: (name) => read(name, asText, "a string") ?? "",
    texts: (name) => read(name, asTexts, "a list of strings") ?? [],
    mapping: (name) => read(name, asMapping, "a mapping") ?? {},
    oneOf(name, allowed) {
      const value = raw(name);
      const found = allowed.find((item) => item === value);
      if (found === undefined) at.notSupported(name, value, allowed);
      return found ?? allowed[0];
    },
    integer: (name, range = {}) => amount(name, range, integers),
    durationMs: (name, range = {}) => amount(name, range, durations),
    bytes: (name, range = {}) => amount(name, range, amounts),
  };
}

/** Reports names in the file that are not fields, and scalars in place of groups. */
export function reportUnknownFields(file: Mapping, at: FieldErrors, prefix = ""): void {
  for (const [key, value] of Object.entries(file)) {
    const path = prefix + key;
    if (names.includes(path)) continue;
    if (!names.some((name) => name.startsWith(`${path}.`))) {
      const meant = closestName(path, names);
      at.forbidden(path, meant ? `unknown field; did you mean ${meant}?` : "unknown field");
    } else if (isMapping(value)) {
      reportUnknownFields(value, at, `${path}.`);
    } else if (value !== null) {
      at.invalid(path, value, "must be a mapping");
    }
  }
}

/** Whole units of a quantity, which may also be a number; undefined for other values and for fractions. */
export function quantityUnits(value: unknown): number | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  try {
    const quantity = parseQuantity(String(value));
    return quantity.nanos % 1_000_000_000n === 0n ? wholeUnits(quantity) : undefined;
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

interface Unit {
  readonly wanted: string;
  parse(value: unknown): number | undefined;
  show(bound: number): string;
}

const integers: Unit = {
  wanted: "a whole number",
  parse: (value) => (typeof value === "number" && Number.isSafeInteger(value) ? value : undefined),
  show: String,
};
const durations: Unit = {
  wanted: "a duration such as 10s or 1m30s",
  parse: (value) => (typeof value === "string" ? parseGoDuration(value) : undefined),
  show: formatGoDuration,
};
const amounts: Unit = { wanted: "an amount such as 10Mi", parse: quantityUnits, show: String };

function describeRange({ min, max }: Range, { show }: Unit): string {
  if (min !== undefined && max !== undefined) return ` from ${show(min)} to ${show(max)}`;
  return min === undefined ? "" : ` of at least ${show(min)}`;
}

function own(mapping: Mapping, key: string): unknown {
  return Object.hasOwn(mapping, key) ? mapping[key] : undefined;
}

function asFlag(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function asTexts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
}

function asMapping(value: unknown): Mapping | undefined {
  return isMapping(value) ? value : undefined;
}
