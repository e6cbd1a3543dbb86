import type { CallExpr, ComprehensionExpr, Expr } from "./ast.ts";
import { comparisons, listCreateCost, regexFactor, stringFactor, structCreateCost } from "./call-cost.ts";
import type { Program } from "./compile.ts";
import type { EstimateSize } from "./environment.ts";
import { type CallEstimate, type EstimatedNode, estimateLibraryCall } from "./estimate-call.ts";
import {
  add,
  fixed,
  maxUint64,
  multiply,
  type Range,
  scale,
  smaller,
  union,
  unknownSize,
} from "./estimate-size.ts";
import { accumulator } from "./macros.ts";
import { codePoints } from "./parser.ts";
import { dynType, isOptional, type Type } from "./type.ts";

/** Sizes of the keys and values of a container. */
interface EntrySizes {
  readonly kind: "list" | "map";
  readonly key: Range;
  readonly value: Range;
}

/** Variable of a loop. */
interface Local {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

const mapCreateCost = 30;
const none = fixed(0);
const one = fixed(1);

/**
 * Estimates the least and the largest cost of a program before it runs, from the largest sizes of its variables. The numbers
 * are those of cel-go: upstream accepts or rejects a definition by them.
 */
export function estimateCost({ expr: root, checked }: Program, estimateSize: EstimateSize): Range {
  const paths = new Map<number, readonly string[]>();
  const sizes = new Map<number, Range>();
  const entrySizes = new Map<number, EntrySizes>();
  const locals = new Map<string, Local[]>();
  return cost(root);

  function typeOf(expr: Expr): Type {
    return checked.types.get(expr.id) ?? dynType;
  }

  /** Name of a variable that the expression is, also if it is written as a selection. */
  function identOf(expr: Expr): string | undefined {
    const reference = checked.references.get(expr.id);
    if (reference?.kind === "variable") return reference.name;
    return expr.kind === "ident" ? expr.name : undefined;
  }

  function localOf(expr: Expr): Local | undefined {
    const name = identOf(expr);
    return name === undefined ? undefined : locals.get(name)?.at(-1);
  }

  function withLocal<T>(name: string, local: Local, run: () => T): T {
    const stack = locals.get(name) ?? [];
    locals.set(name, stack);
    stack.push(local);
    const result = run();
    stack.pop();
    return result;
  }

  function pathOf(expr: Expr): readonly string[] {
    return localOf(expr)?.path ?? paths.get(expr.id) ?? [];
  }

  function cost(expr: Expr): Range {
    const name = identOf(expr);
    if (name !== undefined || checked.references.has(expr.id)) {
      paths.set(expr.id, localOf(expr)?.path ?? [name ?? ""]);
      return one;
    }
    switch (expr.kind) {
      case "literal":
        return none;
      case "ident":
        return one;
      case "select": {
        const operand = cost(expr.operand);
        if (expr.testOnly) return operand;
        const { kind } = typeOf(expr.operand);
        paths.set(expr.id, [...pathOf(expr.operand), expr.field]);
        return kind === "map" || kind === "struct" ? add(operand, one) : operand;
      }
      case "call":
        return callCost(expr);
      case "list":
        return literalCost(
          expr,
          "list",
          expr.elements.map(({ value }) => [undefined, value]),
          listCreateCost,
        );
      case "map":
        return literalCost(
          expr,
          "map",
          expr.entries.map(({ key, value }) => [key, value]),
          mapCreateCost,
        );
      case "struct":
        return add(fixed(structCreateCost), ...expr.fields.map(({ value }) => cost(value)));
      case "comprehension":
        return isBinding(expr) ? bindingCost(expr) : loopCost(expr);
    }
  }

  function literalCost(
    expr: Expr,
    kind: "list" | "map",
    entries: readonly (readonly [Expr | undefined, Expr])[],
    createCost: number,
  ): Range {
    let sum = fixed(createCost);
    const start: Range = { min: entries.length === 0 ? 0n : maxUint64, max: 0n };
    let keySize = start;
    let valueSize = start;
    for (const [key, value] of entries) {
      if (key) {
        sum = add(sum, cost(key));
      }
      sum = add(sum, cost(value));
      if (key) keySize = union(keySize, sizeOf(key) ?? unknownSize);
      valueSize = union(valueSize, sizeOf(value) ?? unknownSize);
    }
    entrySizes.set(expr.id, { kind, key: kind === "list" ? one : keySize, value: valueSize });
    return sum;
  }

  /** Whether a loop only binds a variable: optMap and sortBy. */
  function isBinding({ range, condition, accuVar }: ComprehensionExpr): boolean {
    const isEmpty = range.kind === "list" && range.elements.length === 0;
    return isEmpty && condition.kind === "literal" && condition.value === false && accuVar !== "__result__";
  }

  function bindingCost(expr: ComprehensionExpr): Range {
    const sum = add(cost(expr.range), cost(expr.accuInit));
    const local = {
      path: pathOf(expr.accuInit),
      size: sizeOf(expr.accuInit),
      entries: entriesOf(expr.accuInit),
    };
    const result = withLocal(expr.accuVar, local, () => {
      const own = cost(expr.result);
      copySizes(expr, expr.result);
      return own;
    });
    return add(sum, result);
  }

  function loopCost(expr: ComprehensionExpr): Range {
    const { range, iterVar, iterVar2 } = expr;
    const start = add(cost(range), cost(expr.accuInit));
    const accu = {
      path: pathOf(expr.accuInit),
      size: sizeOf(expr.accuInit),
      entries: entriesOf(expr.accuInit),
    };
    const entries = entriesOf(range);
    const isList = (entries?.kind ?? typeOf(range).kind) === "list";
    const path = pathOf(range);
    const keyVariable: Local = {
      path: [...path, isList ? "@indices" : "@keys"],
      size: entries?.key,
      entries: undefined,
    };
    const valueVariable: Local = {
      path: [...path, isList ? "@items" : "@values"],
      size: entries?.value,
      entries: undefined,
    };
    return withLocal(expr.accuVar, accu, () => {
      const body = () => add(cost(expr.condition), cost(expr.step));
      const only = isList ? valueVariable : keyVariable;
      const each =
        iterVar2 === undefined
          ? withLocal(iterVar, only, body)
          : withLocal(iterVar, keyVariable, () => withLocal(iterVar2, valueVariable, body));
      const result = cost(expr.result);
      const count = sizeOf(range) ?? unknownSize;
      if (expr.accuInit.kind === "literal") setSize(expr, sizeOf(expr.accuInit));
      else if (expr.accuInit.kind === "list" || expr.accuInit.kind === "map") {
        setSize(expr, count);
        const stepEntries = entriesOf(expr.step);
        if (stepEntries) entrySizes.set(expr.id, stepEntries);
      }
      return add(start, result, multiply(count, each));
    });
  }

  function callCost(expr: CallExpr): Range {
    const resolved = checked.calls.get(expr.id);
    if (!resolved) return none;
    const [firstArg] = expr.args;
    if (resolved.declaration.name === "dyn" && firstArg) {
      const own = add(one, cost(firstArg));
      copySizes(expr, firstArg);
      return own;
    }
    const argCosts: Range[] = [];
    const args: EstimatedNode[] = [];
    for (const arg of expr.args) {
      argCosts.push(cost(arg));
      args.push(nodeOf(arg));
    }
    const targetExpr = resolved.hasTarget ? expr.target : undefined;
    const targetCost = targetExpr ? cost(targetExpr) : none;
    const target = targetExpr && nodeOf(targetExpr);
    let total: Range = { min: maxUint64, max: 0n };
    let size: Range | undefined;
    for (const { id } of resolved.overloads) {
      const call = { fn: resolved.declaration.name, overload: id, target, args, itemOf };
      const library = estimateLibraryCall(call);
      const estimate = library
        ? { ...library, cost: add(library.cost, ...argCosts) }
        : standardCall(expr, id, { target, args, argCosts });
      total = union(total, estimate.cost);
      if (estimate.size) size = size ? union(size, estimate.size) : estimate.size;
      if ((id === "index_list" || id === "index_map") && firstArg) {
        size = entriesOf(firstArg)?.value;
        paths.set(expr.id, [...pathOf(firstArg), id === "index_list" ? "@items" : "@values"]);
      }
      size ??= sizeOf(expr);
    }
    setSize(expr, size);
    return add(targetCost, total);
  }

  function standardCall(
    expr: CallExpr,
    overload: string,
    {
      target,
      args,
      argCosts,
    }: { target: EstimatedNode | undefined; args: readonly EstimatedNode[]; argCosts: readonly Range[] },
  ): CallEstimate {
    const [first, second, third] = args;
    const [firstCost = none, secondCost = none, thirdCost = none] = argCosts;
    const sum = add(none, ...argCosts);
    const known = (node: EstimatedNode | undefined) => node?.size ?? unknownSize;
    const traversal = (node: EstimatedNode | undefined) => scale(known(node), stringFactor);
    switch (overload) {
      case "string_format":
        return { cost: add(traversal(target), sum) };
      case "string_to_bytes": {
        const size = known(first);
        return {
          cost: add(traversal(first), sum),
          size: { min: size.min, max: BigInt.asUintN(64, size.max * 4n) },
        };
      }
      case "bytes_to_string": {
        const size = known(first);
        return { cost: add(traversal(first), sum), size: { min: size.min / 4n, max: size.max } };
      }
      case "strings_quote": {
        const size = known(first);
        const quoted = {
          min: BigInt.asUintN(64, size.min + 2n),
          max: BigInt.asUintN(64, size.max * 2n + 2n),
        };
        return { cost: add(traversal(first), sum), size: quoted };
      }
      case "starts_with_string":
      case "ends_with_string":
        return { cost: add(traversal(first), sum) };
      case "in_list":
        return { cost: add(scale(known(second), 1), sum) };
      case "matches_string": {
        const text = scale(add(known(target), one), stringFactor);
        return { cost: add(multiply(text, scale(known(first), regexFactor)), sum) };
      }
      case "contains_string":
        return { cost: add(multiply(traversal(target), traversal(first)), sum) };
      case "logical_or":
      case "logical_and":
        return { cost: { min: firstCost.min, max: add(firstCost, secondCost).max } };
      case "conditional": {
        const entries = unionEntries(second, third);
        if (entries) entrySizes.set(expr.id, entries);
        return {
          cost: add(firstCost, union(secondCost, thirdCost)),
          size: union(known(second), known(third)),
        };
      }
      case "add_string":
      case "add_bytes":
      case "add_list": {
        const size = add(known(first), known(second));
        const entries = unionEntries(first, second);
        if (entries) entrySizes.set(expr.id, entries);
        return { cost: add(overload === "add_list" ? one : scale(size, stringFactor), sum), size };
      }
      default:
        return {
          cost: add(comparisons.has(overload) ? comparisonCost(known(first), known(second)) : one, sum),
        };
    }
  }

  function unionEntries(a: EstimatedNode | undefined, b: EstimatedNode | undefined): EntrySizes | undefined {
    const left = a?.expr && entriesOf(a.expr);
    const right = b?.expr && entriesOf(b.expr);
    if (!left || !right) return undefined;
    return { kind: left.kind, key: union(left.key, right.key), value: union(left.value, right.value) };
  }

  function nodeOf(expr: Expr): EstimatedNode {
    const path = pathOf(expr);
    const isHidden = path.length === 0 || path[0] === accumulator || path[0] === "__result__";
    return { path: isHidden ? undefined : path, type: typeOf(expr), expr, size: sizeOf(expr) };
  }

  function itemOf({ type, path }: EstimatedNode): EstimatedNode | undefined {
    const [item] = type.params;
    if (!item) return undefined;
    const itemPath = path && [...path, "@items"];
    return { path: itemPath, type: item, expr: undefined, size: itemPath && estimateSize(itemPath) };
  }

  function setSize(expr: Expr, size: Range | undefined): void {
    if (size) sizes.set(expr.id, size);
  }

  function copySizes(to: Expr, from: Expr): void {
    setSize(to, sizeOf(from));
    const entries = entriesOf(from);
    if (entries) entrySizes.set(to.id, entries);
  }

  function sizeOf(expr: Expr): Range | undefined {
    const known = sizes.get(expr.id) ?? literalSize(expr);
    if (known) return known;
    const path = pathOf(expr);
    const estimated = path.length > 0 ? estimateSize(path) : undefined;
    if (estimated) {
      sizes.set(expr.id, estimated);
      return estimated;
    }
    return isScalar(typeOf(expr)) ? one : localOf(expr)?.size;
  }

  function entriesOf(expr: Expr): EntrySizes | undefined {
    return entrySizes.get(expr.id) ?? localOf(expr)?.entries;
  }
}

function comparisonCost(a: Range, b: Range): Range {
  const max = smaller(a.max, b.max);
  return scale({ min: max > 0n ? 1n : 0n, max }, stringFactor);
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === "list") return fixed(expr.elements.length);
  if (expr.kind === "map") return fixed(expr.entries.length);
  if (expr.kind !== "literal") return undefined;
  if (typeof expr.value === "string") return fixed(codePoints(expr.value));
  return expr.value instanceof Uint8Array ? fixed(expr.value.length) : one;
}

function isScalar(type: Type): boolean {
  if (isOptional(type)) return isScalar(type.params[0] ?? dynType);
  return ["bool", "double", "duration", "int", "timestamp", "uint"].includes(type.kind);
}
