import { dynType, formatType, isDyn, isSameType, type Type } from "./type.ts";

/**
 * Types that the checker found for type variables, by their name. Changes are recorded, so that those of an attempt that
 * fails are undone: a copy for each attempt would take quadratic time.
 */
export interface Substitutions {
  readonly types: Map<string, Type>;
  readonly changes: [name: string, before: Type | undefined][];
}

export function createSubstitutions(): Substitutions {
  return { types: new Map(), changes: [] };
}

/** Whether `from` can be used as `to`. Notes the types of variables with which it can. */
export function assign(known: Substitutions, from: Type, to: Type): boolean {
  return assignAll(known, [from], [to]);
}

export function assignAll(known: Substitutions, from: readonly Type[], to: readonly Type[]): boolean {
  known.changes.length = 0;
  if (isAssignableList(known, from, to)) return true;
  for (const [name, before] of known.changes.toReversed()) {
    if (before) known.types.set(name, before);
    else known.types.delete(name);
  }
  return false;
}

function set(known: Substitutions, name: string, type: Type): void {
  known.changes.push([name, known.types.get(name)]);
  known.types.set(name, type);
}

function isAssignableList(known: Substitutions, from: readonly Type[], to: readonly Type[]): boolean {
  return from.length === to.length && from.every((type, i) => isAssignable(known, type, to[i] as Type));
}

function isAssignable(known: Substitutions, from: Type, to: Type): boolean {
  if (to.kind === "param") {
    const result = trySubstitute(known, from, to);
    if (result === "valid") return true;
    if (result === "conflict") return false;
  }
  if (from.kind === "param") return trySubstitute(known, to, from) === "valid";
  if (isWild(from) || isWild(to)) return true;
  if (from.kind === "null") return isNullable(to);
  if (to.kind === "null") return isNullable(from);
  if (from.kind !== to.kind) return false;
  if (from.kind === "type") return true;
  if (from.kind === "opaque" || from.kind === "list" || from.kind === "map")
    return from.name === to.name && isAssignableList(known, from.params, to.params);
  return from.name === to.name;
}

function isWild(type: Type): boolean {
  return isDyn(type) || type.kind === "error";
}

/** As in cel-go, null can be used for these although they have no null value. */
function isNullable({ kind }: Type): boolean {
  return ["null", "opaque", "struct", "duration", "timestamp"].includes(kind);
}

function trySubstitute(known: Substitutions, type: Type, variable: Type): "valid" | "conflict" | "recursive" {
  if (isSameType(type, variable)) return "valid";
  const before = known.types.get(variable.name);
  if (before) {
    if (isSameType(type, before)) return "valid";
    if (!isAssignable(known, type, before)) return "conflict";
    const general = mostGeneral(type, before);
    if (!occursIn(known, variable, general)) set(known, variable.name, general);
    return "valid";
  }
  if (occursIn(known, variable, type)) return "recursive";
  set(known, variable.name, type);
  return "valid";
}

function occursIn(known: Substitutions, variable: Type, type: Type): boolean {
  if (isSameType(variable, type)) return true;
  if (type.kind === "param") {
    const found = known.types.get(type.name);
    return found !== undefined && occursIn(known, variable, found);
  }
  return type.params.some((param) => occursIn(known, variable, param));
}

export function mostGeneral(a: Type, b: Type): Type {
  return isLessSpecific(a, b) ? a : b;
}

function isLessSpecific(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === "param") return true;
  if (isDyn(b) || b.kind === "param" || a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  if (a.kind === "opaque" || a.kind === "list" || a.kind === "map")
    return (
      a.name === b.name &&
      a.params.length === b.params.length &&
      a.params.every((param, i) => isLessSpecific(param, b.params[i] as Type))
    );
  return isSameType(a, b);
}

/** The type with its variables replaced. With `final`, variables without a type become dyn. */
export function substitute(known: Substitutions, type: Type, final = false): Type {
  if (type.kind === "param") {
    const found = known.types.get(type.name);
    if (found) return substitute(known, found, final);
    return final ? dynType : type;
  }
  if (type.params.length === 0) return type;
  return { ...type, params: type.params.map((param) => substitute(known, param, final)) };
}

/** Signature as messages show it: `string.(int, int)`. */
export function formatSignature(args: readonly Type[], isMember: boolean): string {
  const [target, ...rest] = args;
  const list = (types: readonly Type[]) => `(${types.map(formatType).join(", ")})`;
  return isMember && target ? `${formatType(target)}.${list(rest)}` : list(args);
}
