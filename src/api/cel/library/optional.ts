import { type FunctionDeclaration, fn, type Implementation, member } from "../functions.ts";
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  CelObject,
  Duration,
  EntryMap,
  Optional,
  Timestamp,
  Uint,
  type Value,
} from "../values.ts";
import { showValue } from "./conversions.ts";

function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0 || value === 0n) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof CelList || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof CelMap) return value.size === 0;
  if (value instanceof Duration) return value.nanoseconds === 0n;
  if (value instanceof Timestamp) return value.nanoseconds === -62_135_596_800_000_000_000n;
  if (value instanceof Optional) return value.value === undefined || isZero(value.value);
  return value instanceof CelObject && value.isZero?.() === true;
}

const unwrap: Implementation = ([items]) => {
  const values: Value[] = [];
  for (const item of (items as CelList).values()) {
    if (!(item instanceof Optional)) return new CelError(`value ${showValue(item)} is not optional`);
    if (item.value !== undefined) values.push(item.value);
  }
  return new ArrayList(values);
};

function end(pick: (length: number) => number): Implementation {
  return ([items]) => {
    const { length } = items as CelList;
    return length === 0 ? Optional.none : Optional.of((items as CelList).at(pick(length)));
  };
}

function insert(map: EntryMap, key: Value, value: Value): CelError | undefined {
  if (map.find(key) !== undefined) return new CelError(`insert failed: key ${showValue(key)} already exists`);
  map.set(key, value);
  return undefined;
}

/** Adds entries to the map that a macro builds. Each step copies it, which the meter counts. */
const mapInsert: Implementation = ([map, first = null, second], meter) => {
  const source = map as CelMap;
  meter.spend(source.size);
  const copy = new EntryMap();
  for (const key of source.keys()) copy.set(key, source.find(key) ?? null);
  if (second !== undefined) return insert(copy, first, second) ?? copy;
  const added = first as CelMap;
  for (const key of added.keys()) {
    const error = insert(copy, key, added.find(key) ?? null);
    if (error) return error;
  }
  return copy;
};

/** Optional values, and the function with which macros build maps. */
export const optionalFunctions: readonly FunctionDeclaration[] = [
  fn("optional.of", ["optional_of", "V -> optional(V)", ([value = null]) => Optional.of(value)]),
  fn("optional.ofNonZeroValue", [
    "optional_ofNonZeroValue",
    "V -> optional(V)",
    ([value = null]) => (isZero(value) ? Optional.none : Optional.of(value)),
  ]),
  fn("optional.none", ["optional_none", " -> optional(V)", () => Optional.none]),
  member("value", [
    "optional_value",
    "optional(V) -> V",
    ([optional]) => {
      const { value } = optional as Optional;
      return value === undefined ? new CelError("optional.none() dereference") : value;
    },
  ]),
  member("hasValue", [
    "optional_hasValue",
    "optional(V) -> bool",
    ([optional]) => (optional as Optional).value !== undefined,
  ]),
  member("or", ["optional_or_optional", "optional(V), optional(V) -> optional(V)"]),
  member("orValue", ["optional_orValue_value", "optional(V), V -> V"]),
  member("last", ["list_last", "list(V) -> optional(V)", end((length) => length - 1)]),
  member("first", ["list_first", "list(V) -> optional(V)", end(() => 0)]),
  fn("optional.unwrap", ["optional_unwrap", "list(optional(V)) -> list(V)", unwrap]),
  member("unwrapOpt", ["optional_unwrapOpt", "list(optional(V)) -> list(V)", unwrap]),
  fn(
    "cel.@mapInsert",
    ["@mapInsert_map_key_value", "map(K, V), K, V -> map(K, V)", mapInsert],
    ["@mapInsert_map_map", "map(K, V), map(K, V) -> map(K, V)", mapInsert],
  ),
];
