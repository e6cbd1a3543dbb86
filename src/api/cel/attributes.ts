import { showValue } from "./library/conversions.ts";
import type { CostMeter } from "./meter.ts";
import { formatType } from "./type.ts";
import { CelError, CelList, CelMap, CelObject, Optional, typeOf, Uint, type Value } from "./values.ts";

/** Values of the variables of an evaluation. */
export interface Frame {
  readonly meter: CostMeter;
  readonly variable: (name: string) => Value | undefined;
  /** Frame of the surrounding loop. */
  readonly parent: Frame | undefined;
  /** Initial value of the accumulator, in the parent. */
  readonly init: Run | undefined;
  accu: Value | undefined;
  item: Value;
  item2: Value;
}

/** Frame outside of all loops. */
export function createFrame(meter: CostMeter, variable: (name: string) => Value | undefined): Frame {
  return { meter, variable, parent: undefined, init: undefined, accu: undefined, item: null, item2: null };
}

export type Run = (frame: Frame) => Value;

/** One step of a path: `.field`, `[index]`, `.?field` or `[?index]`. */
export interface Qualifier {
  readonly key: Value | Run;
  readonly isOptional: boolean;
  /** Whether the step asks for the presence of the field only: `has(x.field)`. */
  readonly isTest: boolean;
  /** Cost of the step. A ternary as index costs nothing. */
  readonly cost: number;
}

/** Path from a variable or a computed value. cel-go resolves a path at once, with costs that differ from single steps. */
export type Attribute =
  | { readonly kind: "path"; readonly base: Run; readonly qualifiers: readonly Qualifier[] }
  | { readonly kind: "ternary"; readonly condition: Run; readonly yes: Attribute; readonly no: Attribute };

export function addQualifier(attribute: Attribute, qualifier: Qualifier): Attribute {
  return attribute.kind === "path"
    ? { ...attribute, qualifiers: [...attribute.qualifiers, qualifier] }
    : {
        ...attribute,
        yes: addQualifier(attribute.yes, qualifier),
        no: addQualifier(attribute.no, qualifier),
      };
}

const noSuchOverload = new CelError("no such overload");

/** Value of an attribute. Steps are charged; the attribute itself is charged by the expression that it is. */
export function resolveAttribute(attribute: Attribute, frame: Frame): Value {
  if (attribute.kind === "ternary") {
    const condition = attribute.condition(frame);
    if (condition === true) return resolveAttribute(attribute.yes, frame);
    if (condition === false) return resolveAttribute(attribute.no, frame);
    return condition instanceof CelError ? condition : noSuchOverload;
  }
  let value = attribute.base(frame);
  let isOptional = value instanceof Optional;
  if (value instanceof Optional) {
    if (value.value === undefined || attribute.qualifiers.length === 0) return value;
    value = value.value;
  }
  for (const qualifier of attribute.qualifiers) {
    if (value instanceof CelError) return value;
    isOptional ||= qualifier.isOptional;
    const next = qualify(value, qualifier, frame, isOptional);
    if (next === undefined) return Optional.none;
    value = next;
  }
  return isOptional && !(value instanceof CelError) ? Optional.of(value) : value;
}

/** Value after one step. Undefined if it is missing and the step is optional. */
function qualify(value: Value, qualifier: Qualifier, frame: Frame, isOptional: boolean): Value | undefined {
  const key = typeof qualifier.key === "function" ? qualifier.key(frame) : qualifier.key;
  const found = key instanceof CelError ? key : find(value, key, qualifier.isTest || isOptional);
  if (found !== undefined || qualifier.isTest || !isOptional) frame.meter.charge(qualifier.cost);
  if (found instanceof CelError) return found;
  if (qualifier.isTest) return isOptional ? (found === undefined ? undefined : true) : found !== undefined;
  if (found !== undefined || isOptional) return found;
  return new CelError(
    value instanceof CelList ? `index out of bounds: ${showValue(key)}` : `no such key: ${showValue(key)}`,
  );
}

function find(value: Value, key: Value, isTest: boolean): Value | undefined {
  if (value instanceof CelMap) return value.find(key);
  if (value instanceof CelList) {
    const index = indexOf(key);
    if (index instanceof CelError) return index;
    return index >= 0n && index < value.length ? value.at(Number(index)) : undefined;
  }
  if (value instanceof CelObject && value.field && typeof key === "string") {
    if (isTest && value.hasField && !value.hasField(key)) return undefined;
    return value.field(key) ?? new CelError(`no such field '${key}'`);
  }
  return undefined;
}

function indexOf(key: Value): bigint | CelError {
  if (typeof key === "bigint") return key;
  if (key instanceof Uint) return key.value;
  if (typeof key === "number")
    return Number.isInteger(key)
      ? BigInt(key)
      : new CelError(`unsupported index value ${showValue(key)} in list`);
  return new CelError(`unsupported index type '${formatType(typeOf(key))}' in list`);
}
