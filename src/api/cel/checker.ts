import type { CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr, SelectExpr, StructExpr } from "./ast.ts";
import type { Environment } from "./environment.ts";
import type { FunctionDeclaration, Overload } from "./functions.ts";
import type { Issue } from "./issues.ts";
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  errorType,
  formatType,
  intType,
  isDyn,
  isSameType,
  listType,
  mapType,
  nullType,
  optionalType,
  paramType,
  stringType,
  type Type,
  typeOfType,
  uintType,
  unwrapOptional,
} from "./type.ts";
import { assign, assignAll, createSubstitutions, formatSignature, mostGeneral, substitute } from "./unify.ts";
import { Uint, type Value } from "./values.ts";

/** What the checker found out about an expression. Maps have the ids of expressions as keys. */
export interface Checked {
  readonly types: ReadonlyMap<number, Type>;
  /** Identifiers and selections that refer to a variable or a type. */
  readonly references: ReadonlyMap<number, Reference>;
  /** Function and possible overloads of calls. The target of a qualified name such as `optional.of` is no argument. */
  readonly calls: ReadonlyMap<number, ResolvedCall>;
  readonly issues: readonly Issue[];
}

type Reference =
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "type"; readonly type: Type };

export interface ResolvedCall {
  readonly declaration: FunctionDeclaration;
  readonly overloads: readonly Overload[];
  readonly hasTarget: boolean;
}

/** Checks the types of an expression, as cel-go does: messages, the order of overloads and the resulting types agree. */
export function checkExpression(root: Expr, environment: Environment): Checked {
  const types = new Map<number, Type>();
  const references = new Map<number, Reference>();
  const calls = new Map<number, ResolvedCall>();
  const issues: Issue[] = [];
  const known = createSubstitutions();
  let scopes: readonly ReadonlyMap<string, Type>[] = [environment.variables];
  let variableCount = 0;

  check(root);
  for (const [id, type] of types) types.set(id, substitute(known, type, true));
  return { types, references, calls, issues };

  function report({ offset }: { readonly offset: number }, message: string): void {
    issues.push({ offset, message });
  }

  function typeOf(expr: Expr): Type {
    return types.get(expr.id) ?? errorType;
  }

  function newVariable(): Type {
    return paramType(`_var${variableCount++}`);
  }

  function isAssignable(from: Type, to: Type): boolean {
    return assign(known, from, to);
  }

  function check(expr: Expr): void {
    const type = typeExpr(expr);
    types.set(expr.id, type);
  }

  function typeExpr(expr: Expr): Type {
    switch (expr.kind) {
      case "literal":
        return literalType(expr.value);
      case "ident":
        return lookUp(expr, expr.name) ?? undeclared(expr, expr.name);
      case "select":
        return checkSelect(expr);
      case "call":
        return checkCall(expr);
      case "list":
        return checkList(expr);
      case "map":
        return checkMap(expr);
      case "struct":
        return checkStruct(expr);
      case "comprehension":
        return checkComprehension(expr);
    }
  }

  /** Type of a variable or type, whose reference is noted. Names with a leading dot are global. */
  function lookUp(expr: Expr, fullName: string): Type | undefined {
    const name = fullName.replace(/^\./, "");
    const candidates = fullName.startsWith(".") ? scopes.slice(0, 1) : scopes.toReversed();
    for (const scope of candidates) {
      const type = scope.get(name);
      if (!type) continue;
      references.set(expr.id, { kind: "variable", name });
      return type;
    }
    const type = environment.types.get(name);
    if (!type) return undefined;
    references.set(expr.id, { kind: "type", type });
    return typeOfType(type);
  }

  function undeclared(expr: Expr, name: string): Type {
    report(expr, `undeclared reference to '${name}' (in container '')`);
    return errorType;
  }

  function checkSelect(expr: SelectExpr): Type {
    const qualified = expr.testOnly ? undefined : qualifiedName(expr);
    const referred = qualified === undefined ? undefined : lookUp(expr, qualified);
    if (referred) return referred;
    const type = checkField(expr, expr.operand, expr.field, false);
    return expr.testOnly ? boolType : substitute(known, type);
  }

  function checkField(expr: Expr, operand: Expr, field: string, optional: boolean): Type {
    check(operand);
    const operandType = substitute(known, typeOf(operand));
    const target = unwrapOptional(operandType);
    const type = fieldType(expr, target, field);
    return optional || target !== operandType ? optionalType(type) : type;
  }

  function fieldType(expr: Expr, target: Type, field: string): Type {
    switch (target.kind) {
      case "map":
        return target.params[1] ?? dynType;
      case "struct": {
        const type = environment.structs?.fieldType(target.name, field);
        if (!type) report(expr, `undefined field '${field}'`);
        return type ?? errorType;
      }
      case "param":
        isAssignable(dynType, target);
        return dynType;
      case "dyn":
      case "error":
        return dynType;
      default:
        report(expr, `type '${formatType(target)}' does not support field selection`);
        return dynType;
    }
  }

  function checkCall(expr: CallExpr): Type {
    if (expr.fn === "_?._") return checkOptionalField(expr);
    for (const arg of expr.args) check(arg);
    if (!expr.target) {
      const declaration = environment.functions.get(expr.fn.replace(/^\./, ""));
      return declaration ? resolve(expr, declaration, undefined) : undeclared(expr, expr.fn);
    }
    const prefix = qualifiedName(expr.target);
    const qualified = prefix === undefined ? undefined : environment.functions.get(`${prefix}.${expr.fn}`);
    if (qualified) return resolve(expr, qualified, undefined);
    check(expr.target);
    const declaration = environment.functions.get(expr.fn);
    return declaration ? resolve(expr, declaration, expr.target) : undeclared(expr, expr.fn);
  }

  function checkOptionalField(expr: CallExpr): Type {
    const [operand, field] = expr.args;
    const name = field?.kind === "literal" && typeof field.value === "string" ? field.value : "";
    if (field) check(field);
    const type = operand ? checkField(expr, operand, name, true) : errorType;
    const declaration = environment.functions.get("_?._");
    if (declaration) calls.set(expr.id, { declaration, overloads: declaration.overloads, hasTarget: false });
    return substitute(known, type);
  }

  function resolve(expr: CallExpr, declaration: FunctionDeclaration, target: Expr | undefined): Type {
    const argTypes = [...(target ? [target] : []), ...expr.args].map(typeOf);
    const hasTarget = target !== undefined;
    if (declaration.name === "_&&_" || declaration.name === "_||_") return resolveLogical(expr, declaration);
    let result: Type | undefined;
    const overloads: Overload[] = [];
    for (const overload of declaration.overloads) {
      if (overload.isMember !== hasTarget) continue;
      const { args, type } = instantiate(overload);
      if (!assignAll(known, argTypes, args)) continue;
      overloads.push(overload);
      const own = substitute(known, type);
      if (result === undefined) result = own;
      else if (!isDyn(result) && !isSameType(result, own)) result = dynType;
    }
    if (result === undefined) {
      const shown = argTypes.map((type) => substitute(known, type, true));
      const signature = formatSignature(shown, hasTarget);
      report(expr, `found no matching overload for '${declaration.name}' applied to '${signature}'`);
      return errorType;
    }
    calls.set(expr.id, { declaration, overloads, hasTarget });
    return result;
  }

  function resolveLogical(expr: CallExpr, declaration: FunctionDeclaration): Type {
    let isValid = true;
    for (const arg of expr.args) {
      const type = typeOf(arg);
      if (isAssignable(type, boolType)) continue;
      report(arg, `expected type 'bool' but found '${formatType(type)}'`);
      isValid = false;
    }
    if (!isValid) return errorType;
    calls.set(expr.id, { declaration, overloads: declaration.overloads, hasTarget: false });
    return boolType;
  }

  /** The overload with new variables for its type parameters. */
  function instantiate({ args, result }: Overload): { args: readonly Type[]; type: Type } {
    const fresh = new Map<string, Type>();
    const rename = (type: Type): Type => {
      if (type.kind === "param") {
        const variable = fresh.get(type.name) ?? newVariable();
        fresh.set(type.name, variable);
        return variable;
      }
      return type.params.length === 0 ? type : { ...type, params: type.params.map(rename) };
    };
    return { type: rename(result), args: args.map(rename) };
  }

  function unwrapElement(expr: Expr, optional: boolean): Type {
    const type = typeOf(expr);
    if (!optional) return type;
    const value = unwrapOptional(type);
    if (value === type && !isDyn(type))
      report(expr, `expected type '${formatType(optionalType(type))}' but found '${formatType(type)}'`);
    return value;
  }

  /** The common type of the elements of a literal. Mixed literals are rejected later, except in formatted lists. */
  function join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    return isAssignable(previous, current) ? mostGeneral(previous, current) : dynType;
  }

  function checkList(expr: ListExpr): Type {
    let type: Type | undefined;
    for (const { value, optional } of expr.elements) {
      check(value);
      type = join(type, unwrapElement(value, optional));
    }
    return listType(type ?? newVariable());
  }

  function checkMap(expr: MapExpr): Type {
    let keyType: Type | undefined;
    let valueType: Type | undefined;
    for (const { key, value, optional } of expr.entries) {
      check(key);
      keyType = join(keyType, typeOf(key));
      check(value);
      valueType = join(valueType, unwrapElement(value, optional));
    }
    return mapType(keyType ?? newVariable(), valueType ?? newVariable());
  }

  function checkStruct(expr: StructExpr): Type {
    const { structs } = environment;
    if (!structs?.create || !structs.has(expr.typeName)) return undeclared(expr, expr.typeName);
    for (const field of expr.fields) {
      check(field.value);
      const declared = structs.fieldType(expr.typeName, field.name);
      if (!declared) report(field, `undefined field '${field.name}'`);
      const type = unwrapElement(field.value, field.optional);
      if (declared && !isAssignable(declared, type)) {
        const text = `expected type of field '${field.name}' is '${formatType(declared)}' but provided type is '${formatType(type)}'`;
        report(field, text);
      }
    }
    return { kind: "struct", name: expr.typeName, params: [] };
  }

  function checkComprehension(expr: ComprehensionExpr): Type {
    check(expr.range);
    check(expr.accuInit);
    const rangeType = substitute(known, typeOf(expr.range));
    const accuType = typeOf(expr.accuInit);
    const outer = scopes;
    const accuScopes = [...outer, new Map([[expr.accuVar, accuType]])];
    const [first, second] = iterationTypes(expr, rangeType);
    const variables = new Map([[expr.iterVar, first]]);
    if (expr.iterVar2 !== undefined) variables.set(expr.iterVar2, second);
    scopes = [...accuScopes, variables];
    check(expr.condition);
    assertType(expr.condition, boolType);
    check(expr.step);
    assertType(expr.step, accuType);
    scopes = accuScopes;
    check(expr.result);
    scopes = outer;
    return substitute(known, typeOf(expr.result));
  }

  /** Types of the iteration variables. The only variable of a list is the item, of a map the key. */
  function iterationTypes(expr: ComprehensionExpr, range: Type): readonly [Type, Type] {
    const [first = dynType, second = dynType] = range.params;
    switch (range.kind) {
      case "list":
        return expr.iterVar2 === undefined ? [first, first] : [intType, first];
      case "map":
        return [first, second];
      case "dyn":
      case "error":
      case "param":
        isAssignable(dynType, range);
        return [dynType, dynType];
      default: {
        const shown = formatType(range);
        report(
          expr.range,
          `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [errorType, errorType];
      }
    }
  }

  function assertType(expr: Expr, type: Type): void {
    if (!isAssignable(type, typeOf(expr)))
      report(expr, `expected type '${formatType(type)}' but found '${formatType(typeOf(expr))}'`);
  }
}

/** The name `a.b.c` that an expression is written as. */
function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name;
  if (expr.kind !== "select" || expr.testOnly) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

function literalType(value: Value): Type {
  if (value === null) return nullType;
  if (value instanceof Uint) return uintType;
  if (value instanceof Uint8Array) return bytesType;
  switch (typeof value) {
    case "boolean":
      return boolType;
    case "bigint":
      return intType;
    case "number":
      return doubleType;
    default:
      return stringType;
  }
}
