import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  errorType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  type Type,
  timestampType,
  typeType,
  uintType,
} from "./type.ts";

/** Value of an expression. An int is a bigint, a double is a number. Errors are values: logical operators absorb them. */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Duration
  | Timestamp
  | TypeValue
  | Optional
  | CelList
  | CelMap
  | CelObject
  | CelError;

/** Evaluation failed: `no such key: x`. */
export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Duration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** Moment, in nanoseconds since 1970. */
export class Timestamp {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class TypeValue {
  readonly type: Type;

  constructor(type: Type) {
    this.type = type;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: Value | undefined;

  private constructor(value: Value | undefined) {
    this.value = value;
  }

  static of(value: Value): Optional {
    return new Optional(value);
  }
}

/** List. Subclasses convert their items on access. */
export abstract class CelList {
  abstract readonly length: number;
  /** Item at an index within the list. */
  abstract at(index: number): Value;
  /** The list followed by another one. */
  concat(other: CelList, meter: Meter): Value {
    meter.spend(this.length + other.length);
    return new ArrayList([...this.values(), ...other.values()]);
  }

  /** Equality with a list of the same length, where it is not that of the items in order. */
  equals?(other: CelList, meter: Meter): Value;

  *values(): Generator<Value> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }
}

export class ArrayList extends CelList {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    super();
    this.items = items;
  }

  get length(): number {
    return this.items.length;
  }

  at(index: number): Value {
    return this.items[index] ?? null;
  }
}

/** List that a macro fills. Adding to it changes it, so that a loop takes linear time. */
export class ListBuilder extends CelList {
  readonly items: Value[] = [];

  get length(): number {
    return this.items.length;
  }

  at(index: number): Value {
    return this.items[index] ?? null;
  }

  override concat(other: CelList, meter: Meter): Value {
    meter.spend(other.length);
    for (const item of other.values()) this.items.push(item);
    return this;
  }
}

export abstract class CelMap {
  abstract readonly size: number;
  /** Value of a key. Undefined if it is missing; an error if no key can be of this type. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;

  /** Equality with a map of the same size, where it is not that of the entries. */
  equals?(other: CelMap, meter: Meter): Value;
}

/** Map with keys of any type that CEL allows. */
export class EntryMap extends CelMap {
  private readonly entries = new Map<unknown, readonly [Value, Value]>();

  get size(): number {
    return this.entries.size;
  }

  set(key: Value, value: Value): void {
    this.entries.set(keyOf(key), [key, value]);
  }

  find(key: Value): Value | undefined {
    return this.entries.get(keyOf(key))?.[1];
  }

  *keys(): Generator<Value> {
    for (const [key] of this.entries.values()) yield key;
  }

  copy(): EntryMap {
    const copy = new EntryMap();
    for (const [id, entry] of this.entries) copy.entries.set(id, entry);
    return copy;
  }
}

/** Keys that are equal have the same key of the underlying Map: 1, 1u and 1.0 are the same key. */
function keyOf(key: Value): unknown {
  if (key instanceof Uint) return key.value;
  if (typeof key === "number" && Number.isInteger(key)) return BigInt(key);
  return key;
}

/** Value of a type that a library defines: a quantity, a URL. */
export abstract class CelObject {
  abstract readonly type: Type;
  abstract equals(other: CelObject): boolean;
  /** Size for costs, where it is not 1. */
  readonly sizeForCost?: number;
  /** Value of a field. Undefined if the type has no such field. */
  field?(name: string): Value | undefined;
  hasField?(name: string): boolean;
  isZero?(): boolean;
}

/** Bounds the work of an evaluation. */
export interface Meter {
  /** Adds elementary steps. Throws when there were too many. */
  spend(steps: number): void;
}

/** Type of a value at run time. Parameters of containers are not known. */
export function typeOf(value: Value): Type {
  switch (typeof value) {
    case "boolean":
      return boolType;
    case "bigint":
      return intType;
    case "number":
      return doubleType;
    case "string":
      return stringType;
  }
  if (value === null) return nullType;
  if (value instanceof CelList) return listType(dynType);
  if (value instanceof CelMap) return mapType(dynType, dynType);
  if (value instanceof Uint8Array) return bytesType;
  if (value instanceof Uint) return uintType;
  if (value instanceof Duration) return durationType;
  if (value instanceof Timestamp) return timestampType;
  if (value instanceof TypeValue) return typeType;
  if (value instanceof Optional) return optionalType(dynType);
  return value instanceof CelError ? errorType : value.type;
}

export const noSuchOverload = new CelError("no such overload");

export function list(items: readonly Value[]): ArrayList {
  return new ArrayList(items);
}
