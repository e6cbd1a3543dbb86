import { compare, equal } from "../compare.ts";
import { type FunctionDeclaration, fn, type Implementation, member } from "../functions.ts";
import type { CostMeter } from "../meter.ts";
import {
  ArrayList,
  CelError,
  CelList,
  Duration,
  list,
  noSuchOverload,
  typeOf,
  Uint,
  type Value,
} from "../values.ts";
import { operators } from "./arithmetic.ts";

/** Types of items that can be compared: the name in overload ids and in signatures. */
const comparable = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];
const zeros: Readonly<Record<string, Value>> = {
  int: 0n,
  uint: new Uint(0n),
  double: 0,
  duration: new Duration(0n),
};
/** Names of types in the overload ids of cel-go's own extension. */
const fullNames: Readonly<Record<string, string>> = {
  duration: "google.protobuf.Duration",
  timestamp: "google.protobuf.Timestamp",
};

function onList(compute: (items: CelList, meter: CostMeter) => Value): Implementation {
  return ([items], meter) => {
    meter.spend((items as CelList).length);
    return compute(items as CelList, meter);
  };
}

const isSorted = onList((items) => {
  for (let i = 1; i < items.length; i++) {
    const order = compare(items.at(i - 1), items.at(i));
    if (typeof order === "number" && order > 0) return false;
  }
  return true;
});

/** Smallest (-1) or largest (1) item. */
function extreme(name: string, sign: 1 | -1): Implementation {
  return onList((items) => {
    if (items.length === 0) return new CelError(`${name} called on empty list`);
    let result = items.at(0);
    for (let i = 1; i < items.length; i++) {
      const order = compare(items.at(i), result);
      if (typeof order === "number" && order * sign > 0) result = items.at(i);
    }
    return result;
  });
}

const addition = operators.find(({ name }) => name === "_+_")?.overloads ?? [];

function sum(name: string): Implementation {
  const id = { int: "add_int64", uint: "add_uint64", double: "add_double" }[name] ?? "add_duration_duration";
  const add = addition.find((overload) => overload.id === id)?.run;
  const zero = zeros[name] ?? 0n;
  return onList((items, meter) => {
    let total: Value = zero;
    for (const item of items.values()) {
      if (item instanceof CelError) return item;
      if (typeOf(item).kind !== typeOf(zero).kind) return noSuchOverload;
      total = add?.([total, item], meter) ?? noSuchOverload;
      if (total instanceof CelError) return total;
    }
    return total;
  });
}

function indexOf(items: CelList, item: Value, meter: CostMeter, fromEnd: boolean): Value {
  const { length } = items;
  for (let i = 0; i < length; i++) {
    const index = fromEnd ? length - 1 - i : i;
    if (equal(items.at(index), item, meter) === true) return BigInt(index);
  }
  return -1n;
}

const search =
  (fromEnd: boolean): Implementation =>
  ([items, item = null], meter) =>
    indexOf(items as CelList, item, meter, fromEnd);

function slice([items, start, end]: readonly Value[]): Value {
  const source = items as CelList;
  const [from, to] = [start as bigint, end as bigint];
  const problem =
    from < 0n || to < 0n
      ? "negative indexes not supported"
      : from > to
        ? "start index must be less than or equal to end index"
        : to > source.length
          ? `list is length ${source.length}`
          : undefined;
  if (problem) return new CelError(`cannot slice(${from}, ${to}), ${problem}`);
  return list([...source.values()].slice(Number(from), Number(to)));
}

function flatten(source: CelList, depth: bigint, meter: CostMeter, into: Value[] = []): Value[] {
  for (const item of source.values()) {
    meter.spend(1);
    if (item instanceof CelList && depth > 0n) flatten(item, depth - 1n, meter, into);
    else into.push(item);
  }
  return into;
}

function sortByKeys(source: CelList, keys: CelList): Value {
  if (source.length !== keys.length) {
    const detail = "expected a list of the same size as the associated keys list, but got";
    return new CelError(
      `@sortByAssociatedKeys() ${detail} ${source.length} and ${keys.length} elements respectively`,
    );
  }
  const kind = source.length > 0 ? typeOf(keys.at(0)).kind : "int";
  const rows = [...source.values()].map((item, i) => ({ item, key: keys.at(i) }));
  if (rows.some(({ key }) => typeOf(key).kind !== kind))
    return new CelError("list elements must have the same type");
  rows.sort((a, b) => {
    const order = compare(a.key, b.key);
    return typeof order === "number" ? order : 0;
  });
  return new ArrayList(rows.map(({ item }) => item));
}

const distinct = onList((items, meter) => {
  const found: Value[] = [];
  for (const item of items.values())
    if (!found.some((other) => equal(item, other, meter) === true)) found.push(item);
  return list(found);
});

function contains(whole: CelList, part: CelList, meter: CostMeter): boolean {
  for (const item of part.values()) if (indexOf(whole, item, meter, false) === -1n) return false;
  return true;
}

const sets =
  (test: (a: CelList, b: CelList, meter: CostMeter) => boolean): Implementation =>
  ([a, b], meter) =>
    test(a as CelList, b as CelList, meter);

/** Functions of lists: Kubernetes' own, and cel-go's extensions for lists and sets. */
export const listFunctions: readonly FunctionDeclaration[] = [
  member(
    "isSorted",
    ...comparable.map((type) => [`list_${type}_is_sorted_bool`, `list(${type}) -> bool`, isSorted] as const),
  ),
  member(
    "sum",
    ...Object.keys(zeros).map(
      (type) => [`list_${type}_sum_${type}`, `list(${type}) -> ${type}`, sum(type)] as const,
    ),
  ),
  member(
    "max",
    ...comparable.map(
      (type) => [`list_${type}_max_${type}`, `list(${type}) -> ${type}`, extreme("max", 1)] as const,
    ),
  ),
  member(
    "min",
    ...comparable.map(
      (type) => [`list_${type}_min_${type}`, `list(${type}) -> ${type}`, extreme("min", -1)] as const,
    ),
  ),
  member("indexOf", ["list_a_index_of_int", "list(A), A -> int", search(false)]),
  member("lastIndexOf", ["list_a_last_index_of_int", "list(A), A -> int", search(true)]),
  member("slice", ["list_slice", "list(T), int, int -> list(T)", slice]),
  member(
    "flatten",
    [
      "list_flatten",
      "list(list(T)) -> list(T)",
      ([items], meter) => list(flatten(items as CelList, 1n, meter)),
    ],
    [
      "list_flatten_int",
      "list(dyn), int -> list(dyn)",
      ([items, depth], meter) =>
        (depth as bigint) < 0n
          ? new CelError("level must be non-negative")
          : list(flatten(items as CelList, depth as bigint, meter)),
    ],
  ),
  member(
    "sort",
    ...comparable.map((type) => {
      const run = onList((items) => sortByKeys(items, items));
      return [`list_${fullNames[type] ?? type}_sort`, `list(${type}) -> list(${type})`, run] as const;
    }),
  ),
  member(
    "@sortByAssociatedKeys",
    ...comparable.map((type) => {
      const id = `list_${fullNames[type] ?? type}_sortByAssociatedKeys`;
      const run: Implementation = ([items, keys]) => sortByKeys(items as CelList, keys as CelList);
      return [id, `list(T), list(${type}) -> list(T)`, run] as const;
    }),
  ),
  fn("lists.range", [
    "lists_range",
    "int -> list(int)",
    ([count]) => list(Array.from({ length: Math.max(0, Number(count as bigint)) }, (_, i) => BigInt(i))),
  ]),
  member("reverse", [
    "list_reverse",
    "list(T) -> list(T)",
    onList((items) => list([...items.values()].reverse())),
  ]),
  member("distinct", ["list_distinct", "list(T) -> list(T)", distinct]),
  fn("sets.contains", ["list_sets_contains_list", "list(T), list(T) -> bool", sets(contains)]),
  fn("sets.equivalent", [
    "list_sets_equivalent_list",
    "list(T), list(T) -> bool",
    sets((a, b, meter) => contains(a, b, meter) && contains(b, a, meter)),
  ]),
  fn("sets.intersects", [
    "list_sets_intersects_list",
    "list(T), list(T) -> bool",
    sets((a, b, meter) => [...a.values()].some((item) => indexOf(b, item, meter, false) !== -1n)),
  ]),
];
