import type { CostMeter } from "./meter.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  paramType,
  stringType,
  type Type,
  timestampType,
  typeOfType,
  uintType,
} from "./type.ts";
import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  Duration,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts";

/** Computes a call. The arguments are of the types of the overload and no errors. */
export type Implementation = (args: readonly Value[], meter: CostMeter) => Value;

export interface Overload {
  /** Identity of the overload in cel-go, by which costs are known. */
  readonly id: string;
  readonly isMember: boolean;
  readonly args: readonly Type[];
  readonly result: Type;
  /** Undefined for operators that the evaluator implements. */
  readonly run: Implementation | undefined;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** Whether one implementation serves all overloads in cel-go. It decides the text of errors at run time. */
  readonly isSingleton: boolean;
}

/** Overload of a function: `["add_int64", "int, int -> int", run]`. */
type OverloadRow = readonly [id: string, signature: string, run?: Implementation];

/** Declares a function that is called as `name(args)`. */
export function fn(name: string, ...rows: readonly OverloadRow[]): FunctionDeclaration {
  return { name, isSingleton: false, overloads: rows.map((row) => overload(row, false)) };
}

/** Declares a function that is called as `target.name(args)`. The target is the first argument. */
export function member(name: string, ...rows: readonly OverloadRow[]): FunctionDeclaration {
  return { name, isSingleton: false, overloads: rows.map((row) => overload(row, true)) };
}

/** Declares an operator. */
export function operator(name: string, ...rows: readonly OverloadRow[]): FunctionDeclaration {
  return { ...fn(name, ...rows), isSingleton: true };
}

/** All declarations by name. Overloads of one name from several libraries are merged. */
export function mergeFunctions(
  declarations: Iterable<FunctionDeclaration>,
): ReadonlyMap<string, FunctionDeclaration> {
  const merged = new Map<string, FunctionDeclaration>();
  for (const declaration of declarations) {
    const before = merged.get(declaration.name);
    const overloads = [...(before?.overloads ?? []), ...declaration.overloads];
    merged.set(declaration.name, {
      ...declaration,
      isSingleton: before?.isSingleton ?? declaration.isSingleton,
      overloads,
    });
  }
  return merged;
}

function overload([id, signature, run]: OverloadRow, isMember: boolean): Overload {
  const [args = "", result = ""] = signature.split("->").map((part) => part.trim());
  return { id, isMember, args: parseTypes(args), result: parseTypes(result)[0] ?? dynType, run };
}

const named = new Map<string, Type>([
  ["bool", boolType],
  ["bytes", bytesType],
  ["double", doubleType],
  ["duration", durationType],
  ["dyn", dynType],
  ["int", intType],
  ["null", nullType],
  ["string", stringType],
  ["timestamp", timestampType],
  ["uint", uintType],
]);

/** Makes a type usable in signatures. */
export function nameType(name: string, type: Type): Type {
  named.set(name, type);
  return type;
}

/** Parses the types of a signature: `list(A), int`. A single capital letter is a type parameter. */
function parseTypes(text: string): Type[] {
  const types: Type[] = [];
  const pattern = /\s*([A-Za-z]+)\s*(\(|,|\)|$)/y;
  const parse = (): Type[] => {
    const found: Type[] = [];
    for (;;) {
      const match = pattern.exec(text);
      if (!match) return found;
      const name = match[1] ?? "";
      let type = named.get(name) ?? paramType(name);
      let end = match[2];
      if (end === "(") {
        const params = parse();
        type = container(name, params);
        const next = /\s*(,|\)|$)/y;
        next.lastIndex = pattern.lastIndex;
        end = next.exec(text)?.[1];
        pattern.lastIndex = next.lastIndex;
      }
      found.push(type);
      if (end !== ",") return found;
    }
  };
  types.push(...parse());
  return types;
}

function container(name: string, [first = dynType, second = dynType]: readonly Type[]): Type {
  if (name === "list") return listType(first);
  if (name === "map") return mapType(first, second);
  return name === "optional" ? optionalType(first) : typeOfType(first);
}

/** Whether a value can be an argument of a type. The items of containers are not looked at. */
export function accepts(type: Type, value: Value): boolean {
  switch (type.kind) {
    case "dyn":
    case "param":
      return true;
    case "bool":
      return typeof value === "boolean";
    case "int":
      return typeof value === "bigint";
    case "double":
      return typeof value === "number";
    case "string":
      return typeof value === "string";
    case "null":
      return value === null;
    case "bytes":
      return value instanceof Uint8Array;
    case "uint":
      return value instanceof Uint;
    case "duration":
      return value instanceof Duration;
    case "timestamp":
      return value instanceof Timestamp;
    case "list":
      return value instanceof CelList;
    case "map":
      return value instanceof CelMap;
    case "type":
      return value instanceof TypeValue;
    case "error":
      return value instanceof CelError;
    case "opaque":
    case "struct":
      return type.name === "optional_type"
        ? value instanceof Optional
        : value instanceof CelObject && value.type.name === type.name;
  }
}
