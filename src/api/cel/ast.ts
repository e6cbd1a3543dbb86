import type { Value } from "./values.ts";

/** Expression after macro expansion. `id` is unique within its expression; `offset` is its position in the source. */
export type Expr =
  | LiteralExpr
  | IdentExpr
  | SelectExpr
  | CallExpr
  | ListExpr
  | MapExpr
  | StructExpr
  | ComprehensionExpr;

interface Node {
  readonly id: number;
  readonly offset: number;
}

interface LiteralExpr extends Node {
  readonly kind: "literal";
  readonly value: Value;
}

export interface IdentExpr extends Node {
  readonly kind: "ident";
  readonly name: string;
}

export interface SelectExpr extends Node {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** Whether this is `has(operand.field)`. */
  readonly testOnly: boolean;
}

export interface CallExpr extends Node {
  readonly kind: "call";
  readonly fn: string;
  /** Receiver of a member call. */
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListExpr extends Node {
  readonly kind: "list";
  readonly elements: readonly { readonly value: Expr; readonly optional: boolean }[];
}

export interface MapExpr extends Node {
  readonly kind: "map";
  readonly entries: readonly { readonly key: Expr; readonly value: Expr; readonly optional: boolean }[];
}

export interface StructExpr extends Node {
  readonly kind: "struct";
  readonly typeName: string;
  readonly fields: readonly (Node & {
    readonly name: string;
    readonly value: Expr;
    readonly optional: boolean;
  })[];
}

/** Loop over a range, to which all macros except `has` expand. */
export interface ComprehensionExpr extends Node {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly iterVar: string;
  /** Second variable of a comprehension over entries. */
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** Direct sub-expressions in evaluation order. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "literal":
    case "ident":
      return [];
    case "select":
      return [expr.operand];
    case "call":
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case "list":
      return expr.elements.map(({ value }) => value);
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expr.fields.map(({ value }) => value);
    case "comprehension":
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
  }
}
