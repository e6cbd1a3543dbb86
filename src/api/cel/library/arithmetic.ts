import { compare, equal } from "../compare.ts";
import { type FunctionDeclaration, type Implementation, operator } from "../functions.ts";
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  noSuchOverload,
  Timestamp,
  Uint,
  type Value,
} from "../values.ts";

const intOverflow = new CelError("integer overflow");
const uintOverflow = new CelError("unsigned integer overflow");
const durationOverflow = new CelError("duration overflow");
const timestampOverflow = new CelError("timestamp overflow");

const second = 1_000_000_000n;
const minTimestamp = -62_135_596_800n * second;
const maxTimestamp = 253_402_300_800n * second - 1n;

export function toInt(value: bigint): Value {
  return BigInt.asIntN(64, value) === value ? value : intOverflow;
}

export function toUint(value: bigint): Value {
  return BigInt.asUintN(64, value) === value ? new Uint(value) : uintOverflow;
}

function toDuration(nanoseconds: bigint): Value {
  return BigInt.asIntN(64, nanoseconds) === nanoseconds ? new Duration(nanoseconds) : durationOverflow;
}

export function toTimestamp(nanoseconds: bigint): Value {
  return nanoseconds < minTimestamp || nanoseconds > maxTimestamp
    ? timestampOverflow
    : new Timestamp(nanoseconds);
}

/** Implementation for two arguments of one type, which the checker and the dispatcher ensure. */
function binary<T extends Value>(compute: (a: T, b: T) => Value): Implementation {
  return ([a, b]) => compute(a as T, b as T);
}

const ints = (compute: (a: bigint, b: bigint) => Value) => binary<bigint>(compute);
const uints = (compute: (a: bigint, b: bigint) => Value) => binary<Uint>((a, b) => compute(a.value, b.value));
const doubles = (compute: (a: number, b: number) => number) => binary<number>(compute);
const times =
  (compute: (a: bigint, b: bigint) => Value): Implementation =>
  ([a, b]) =>
    compute((a as Duration | Timestamp).nanoseconds, (b as Duration | Timestamp).nanoseconds);

const divisionByZero = new CelError("division by zero");
const modulusByZero = new CelError("modulus by zero");

const add = operator(
  "_+_",
  [
    "add_bytes",
    "bytes, bytes -> bytes",
    binary<Uint8Array>((a, b) => Uint8Array.from(Buffer.concat([a, b]))),
  ],
  ["add_double", "double, double -> double", doubles((a, b) => a + b)],
  ["add_duration_duration", "duration, duration -> duration", times((a, b) => toDuration(a + b))],
  ["add_duration_timestamp", "duration, timestamp -> timestamp", times((a, b) => toTimestamp(a + b))],
  ["add_timestamp_duration", "timestamp, duration -> timestamp", times((a, b) => toTimestamp(a + b))],
  ["add_int64", "int, int -> int", ints((a, b) => toInt(a + b))],
  ["add_list", "list(A), list(A) -> list(A)", ([a, b], meter) => (a as CelList).concat(b as CelList, meter)],
  ["add_string", "string, string -> string", binary<string>((a, b) => a + b)],
  ["add_uint64", "uint, uint -> uint", uints((a, b) => toUint(a + b))],
);

const subtract = operator(
  "_-_",
  ["subtract_double", "double, double -> double", doubles((a, b) => a - b)],
  ["subtract_duration_duration", "duration, duration -> duration", times((a, b) => toDuration(a - b))],
  ["subtract_int64", "int, int -> int", ints((a, b) => toInt(a - b))],
  ["subtract_timestamp_duration", "timestamp, duration -> timestamp", times((a, b) => toTimestamp(a - b))],
  ["subtract_timestamp_timestamp", "timestamp, timestamp -> duration", times((a, b) => toDuration(a - b))],
  ["subtract_uint64", "uint, uint -> uint", uints((a, b) => toUint(a - b))],
);

const rest = [
  operator(
    "_*_",
    ["multiply_double", "double, double -> double", doubles((a, b) => a * b)],
    ["multiply_int64", "int, int -> int", ints((a, b) => toInt(a * b))],
    ["multiply_uint64", "uint, uint -> uint", uints((a, b) => toUint(a * b))],
  ),
  operator(
    "_/_",
    ["divide_double", "double, double -> double", doubles((a, b) => a / b)],
    ["divide_int64", "int, int -> int", ints((a, b) => (b === 0n ? divisionByZero : toInt(a / b)))],
    ["divide_uint64", "uint, uint -> uint", uints((a, b) => (b === 0n ? divisionByZero : toUint(a / b)))],
  ),
  operator(
    "_%_",
    ["modulo_int64", "int, int -> int", ints((a, b) => modulo(a, b))],
    ["modulo_uint64", "uint, uint -> uint", uints((a, b) => (b === 0n ? modulusByZero : toUint(a % b)))],
  ),
  operator(
    "-_",
    ["negate_double", "double -> double", ([a]) => -(a as number)],
    ["negate_int64", "int -> int", ([a]) => toInt(-(a as bigint))],
  ),
  operator("!_", ["logical_not", "bool -> bool", ([a]) => !a]),
];

/** As cel-go, the smallest int has no remainder by -1. */
function modulo(a: bigint, b: bigint): Value {
  if (b === 0n) return modulusByZero;
  return b === -1n && toInt(-a) === intOverflow ? intOverflow : a % b;
}

/** Types that can be ordered, in the order of the overloads of cel-go. */
const ordered: readonly [suffix: string, args: string][] = [
  ["bool", "bool, bool"],
  ["int64", "int, int"],
  ["int64_double", "int, double"],
  ["int64_uint64", "int, uint"],
  ["uint64", "uint, uint"],
  ["uint64_double", "uint, double"],
  ["uint64_int64", "uint, int"],
  ["double", "double, double"],
  ["double_int64", "double, int"],
  ["double_uint64", "double, uint"],
  ["string", "string, string"],
  ["bytes", "bytes, bytes"],
  ["timestamp", "timestamp, timestamp"],
  ["duration", "duration, duration"],
];

function ordering(name: string, id: string, test: (order: number) => boolean): FunctionDeclaration {
  const run: Implementation = ([a = null, b = null]) => {
    const order = compare(a, b);
    return order instanceof CelError ? order : test(order);
  };
  return operator(
    name,
    ...ordered.map(([suffix, args]) => [`${id}_${suffix}`, `${args} -> bool`, run] as const),
  );
}

const isIn: Implementation = ([item = null, container], meter) => {
  if (container instanceof CelMap) {
    const found = container.find(item);
    return found instanceof CelError ? found : found !== undefined;
  }
  if (!(container instanceof CelList)) return noSuchOverload;
  for (let i = 0; i < container.length; i++) if (equal(container.at(i), item, meter) === true) return true;
  return false;
};

/** Operators. Those without an implementation are evaluated by the evaluator itself. */
export const operators: readonly FunctionDeclaration[] = [
  operator("_?_:_", ["conditional", "bool, A, A -> A"]),
  operator("_&&_", ["logical_and", "bool, bool -> bool"]),
  operator("_||_", ["logical_or", "bool, bool -> bool"]),
  operator("@not_strictly_false", ["not_strictly_false", "bool -> bool"]),
  operator("_==_", ["equals", "A, A -> bool"]),
  operator("_!=_", ["not_equals", "A, A -> bool"]),
  add,
  subtract,
  ...rest,
  ordering("_<_", "less", (order) => order < 0),
  ordering("_<=_", "less_equals", (order) => order <= 0),
  ordering("_>_", "greater", (order) => order > 0),
  ordering("_>=_", "greater_equals", (order) => order >= 0),
  operator(
    "_[_]",
    ["index_list", "list(A), int -> A"],
    ["index_map", "map(A, B), A -> B"],
    ["optional_list_index_int", "optional(list(V)), int -> optional(V)"],
    ["optional_map_index_value", "optional(map(K, V)), K -> optional(V)"],
  ),
  operator("_?._", ["select_optional_field", "dyn, string -> optional(V)"]),
  operator(
    "_[?_]",
    ["list_optindex_optional_int", "list(V), int -> optional(V)"],
    ["optional_list_optindex_optional_int", "optional(list(V)), int -> optional(V)"],
    ["map_optindex_optional_value", "map(K, V), K -> optional(V)"],
    ["optional_map_optindex_optional_value", "optional(map(K, V)), K -> optional(V)"],
  ),
  operator("@in", ["in_list", "A, list(A) -> bool", isIn], ["in_map", "A, map(A, B) -> bool", isIn]),
];
