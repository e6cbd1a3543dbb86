import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  Duration,
  type Meter,
  noSuchOverload,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts";

/** Equality of CEL: numbers of different types are equal by their value; other values of different types differ. */
export function equal(a: Value, b: Value, meter: Meter): Value {
  meter.spend(1);
  if (a instanceof CelError) return a;
  if (b instanceof CelError) return b;
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) === 0;
  if (typeof a === "string" && typeof b === "string") {
    meter.spend(a.length / 16);
    return a === b;
  }
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (a instanceof CelList && b instanceof CelList) return equalLists(a, b, meter);
  if (a instanceof CelMap && b instanceof CelMap) return equalMaps(a, b, meter);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (a instanceof Duration && b instanceof Duration) return a.nanoseconds === b.nanoseconds;
  if (a instanceof Timestamp && b instanceof Timestamp) return a.nanoseconds === b.nanoseconds;
  if (a instanceof TypeValue && b instanceof TypeValue)
    return a.type.kind === b.type.kind && a.type.name === b.type.name;
  if (a instanceof Optional && b instanceof Optional) {
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(a.value, b.value, meter);
  }
  if (a instanceof CelObject && b instanceof CelObject) return a.type.name === b.type.name && a.equals(b);
  return false;
}

function equalLists(a: CelList, b: CelList, meter: Meter): Value {
  if (a.length !== b.length) return false;
  if (a.equals) return a.equals(b, meter);
  for (let i = 0; i < a.length; i++) {
    const result = equal(a.at(i), b.at(i), meter);
    if (result !== true) return result;
  }
  return true;
}

function equalMaps(a: CelMap, b: CelMap, meter: Meter): Value {
  if (a.size !== b.size) return false;
  if (a.equals) return a.equals(b, meter);
  for (const key of a.keys()) {
    const left = a.find(key);
    const right = b.find(key);
    if (left === undefined || right === undefined) return false;
    const result = equal(left, right, meter);
    if (result !== true) return result;
  }
  return true;
}

type Numeric = bigint | number | Uint;

function isNumber(value: Value): value is Numeric {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/** Order of two numbers; undefined with NaN. */
function compareNumbers(a: Numeric, b: Numeric): number | undefined {
  const isDouble = typeof a === "number" || typeof b === "number";
  const [left, right] = isDouble ? [toDouble(a), toDouble(b)] : [toBigInt(a), toBigInt(b)];
  if (left < right) return -1;
  if (left > right) return 1;
  return left === right ? 0 : undefined;
}

/** As cel-go, an int is compared with a double as a double. */
function toDouble(value: Numeric): number {
  return Number(value instanceof Uint ? value.value : value);
}

function toBigInt(value: Numeric): bigint {
  return value instanceof Uint ? value.value : BigInt(value);
}

/** Order of two values: negative, 0 or positive. An error if they have none. */
export function compare(a: Value, b: Value): number | CelError {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) ?? new CelError("NaN values cannot be ordered");
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if ((a instanceof Duration && b instanceof Duration) || (a instanceof Timestamp && b instanceof Timestamp))
    return a.nanoseconds < b.nanoseconds ? -1 : Number(a.nanoseconds > b.nanoseconds);
  return noSuchOverload;
}

/** Order by code points, which is that of the bytes in UTF-8. */
function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Order of a UTF-16 unit: surrogates stand for code points above all others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}
