import { type CallExpr, childrenOf, type Expr } from "./ast.ts";
import type { Checked } from "./checker.ts";
import type { Issue } from "./issues.ts";
import { compileRegex } from "./regex.ts";
import { parseDuration, parseTimestamp } from "./time.ts";
import { formatType, isSameType, type Type, unwrapOptional } from "./type.ts";

/** Checks constants that would fail whenever they are evaluated, and that the elements of a literal have one type. */
export function validateLiterals(root: Expr, { types }: Checked): readonly Issue[] {
  const issues: Issue[] = [];
  const typeOf = (expr: Expr, optional: boolean) => {
    const type = types.get(expr.id);
    return type && optional ? unwrapOptional(type) : type;
  };
  walk(root, false);
  return issues;

  function walk(expr: Expr, isFormatted: boolean): void {
    if (expr.kind === "call") validateCall(expr, issues);
    if (expr.kind === "list" && !isFormatted) {
      const elements = expr.elements.map(({ value, optional }) => ({
        expr: value,
        type: typeOf(value, optional),
      }));
      sameTypes(elements, true);
    }
    if (expr.kind === "map" && !isFormatted) {
      sameTypes(
        expr.entries.map(({ key }) => ({ expr: key, type: typeOf(key, false) })),
        false,
      );
      sameTypes(
        expr.entries.map(({ value, optional }) => ({ expr: value, type: typeOf(value, optional) })),
        false,
      );
    }
    const isFormat = isFormatted || (expr.kind === "call" && expr.fn === "format");
    for (const child of childrenOf(expr)) walk(child, isFormat);
  }

  function sameTypes(elements: readonly { expr: Expr; type: Type | undefined }[], firstOnly: boolean): void {
    const expected = elements[0]?.type;
    for (const { expr, type } of elements) {
      if (!expected || !type || isSameType(expected, type)) continue;
      issues.push({
        offset: expr.offset,
        message: `expected type '${formatType(expected)}' but found '${formatType(type)}'`,
      });
      if (firstOnly) return;
    }
  }
}

function validateCall({ fn, args, target }: CallExpr, issues: Issue[]): void {
  const [arg] = args;
  if (arg?.kind !== "literal" || typeof arg.value !== "string") return;
  const isInvalid =
    (fn === "duration" && !parseDuration(arg.value)) ||
    (fn === "timestamp" && parseTimestamp(arg.value) === undefined) ||
    (fn === "matches" && target !== undefined && typeof compileRegex(arg.value) === "string");
  if (isInvalid) issues.push({ offset: arg.offset, message: `invalid ${fn} argument` });
}
