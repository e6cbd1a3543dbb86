import type { FunctionDeclaration } from "./functions.ts";
import type { Type } from "./type.ts";
import type { Value } from "./values.ts";

/** What an expression can refer to. */
export interface Environment {
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** Types that expressions can name: `type(x) == int`. */
  readonly types: ReadonlyMap<string, Type>;
  /** Struct types of variables and of literals. */
  readonly structs?: StructProvider;
  /** Sizes of the values of variables, for the estimation of costs. */
  readonly estimateSize?: EstimateSize;
}

/** Fields of struct types. */
export interface StructProvider {
  has(typeName: string): boolean;
  fieldType(typeName: string, field: string): Type | undefined;
  /** Creates a value from a literal `Type{field: value}`. Literals are rejected without it. */
  create?(typeName: string, fields: ReadonlyMap<string, Value>): Value;
}

/** Largest size of the value at a path: the name of a variable, then fields, `@items`, `@keys` and `@values`. */
export type EstimateSize = (
  path: readonly string[],
) => { readonly min: bigint; readonly max: bigint } | undefined;
