import { type Attribute, createFrame, type Frame, type Run } from "./attributes.ts";
import { callCost } from "./call-cost.ts";
import type { ResolvedCall } from "./checker.ts";
import { equal } from "./compare.ts";
import { accepts, type Overload } from "./functions.ts";
import { compileMeterLimit, createMeter } from "./meter.ts";
import { compileRegex } from "./regex.ts";
import { formatType } from "./type.ts";
import { CelError, CelList, EntryMap, noSuchOverload, typeOf, Uint, type Value } from "./values.ts";

/** Expression that is ready to run. Constants are computed once; attributes can be extended by further steps. */
export interface Plan {
  readonly run: Run;
  readonly constant?: Value;
  readonly attribute?: Attribute;
}

/** A constant of an expression cannot be converted. */
export class PlanError extends Error {}

/** Functions that are computed while an expression is compiled if their argument is constant. */
const foldable = new Set([
  "bool",
  "bytes",
  "double",
  "duration",
  "dyn",
  "int",
  "string",
  "timestamp",
  "type",
  "uint",
]);

/** Functions whose second argument is a regular expression, which must be valid if it is constant. */
const regexFunctions = new Set(["matches", "find", "findAll"]);

/** Frame in which constants are computed. */
export function constantFrame(): Frame {
  const variable = () => undefined;
  return createFrame(createMeter(compileMeterLimit), variable);
}

/** `&&` and `||`: the result is `decisive` if one side is, even if the other one is an error. */
export function logical(left: Run, right: Run, decisive: boolean): Run {
  const asError = (value: Value) => (value instanceof CelError ? value : noSuchOverload);
  return (frame) => {
    const a = left(frame);
    if (a === decisive) return decisive;
    const b = right(frame);
    if (b === decisive) return decisive;
    if (typeof a !== "boolean") return asError(a);
    return typeof b === "boolean" ? !decisive : asError(b);
  };
}

export function equality(left: Run, right: Run, name: string, overload: string): Run {
  const negates = name === "_!=_";
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    frame.meter.charge(callCost(name, overload, [a, b], undefined));
    if (a instanceof CelError) return a;
    if (b instanceof CelError) return b;
    const result = equal(a, b, frame.meter);
    return negates ? result !== true : result;
  };
}

/** Conversions of constants, and tests for membership in a constant list, are computed or simplified once. */
export function fold({ declaration, overloads }: ResolvedCall, args: readonly Plan[], plan: Plan): Plan {
  const [first, second] = args;
  if (foldable.has(declaration.name) && args.length === 1 && first?.constant !== undefined) {
    const value = plan.run(constantFrame());
    if (value instanceof CelError) throw new PlanError(value.message);
    return { constant: value, run: () => value };
  }
  const pattern = regexFunctions.has(declaration.name) ? second?.constant : undefined;
  if (typeof pattern === "string") {
    const regex = compileRegex(pattern);
    if (typeof regex === "string") throw new PlanError(regex);
  }
  const isMembership = overloads.length === 1 && overloads[0]?.id === "in_list";
  const container = second?.constant;
  if (!isMembership || !first || !(container instanceof CelList)) return plan;
  if (container.length === 0) return { constant: false, run: () => false };
  const isPrimitive = (item: Value) => typeof item !== "object" || item instanceof Uint;
  if (![...container.values()].every(isPrimitive)) return plan;
  const set = new EntryMap();
  for (const item of container.values()) set.set(item, true);
  return {
    run: (frame) => {
      const item = first.run(frame);
      return item instanceof CelError ? item : set.find(item) !== undefined;
    },
  };
}

/** Runs the overload that fits the arguments. cel-go evaluates both arguments of a binary call even if one is an error. */
export function dispatch(resolved: ResolvedCall, args: readonly Plan[]): Run {
  const { declaration, overloads } = resolved;
  const { name } = declaration;
  const [only] = overloads;
  const overloadId = only && overloads.length === 1 ? only.id : "";
  const costNeedsResult = name === "join";
  return (frame) => {
    const values: Value[] = [];
    let error: CelError | undefined;
    for (const { run } of args) {
      const value = run(frame);
      values.push(value);
      if (!(value instanceof CelError)) continue;
      if (args.length > 2) return value;
      error ??= value;
    }
    if (!costNeedsResult) frame.meter.charge(callCost(name, overloadId, values, undefined));
    const result = error ?? call(resolved, values, frame);
    if (costNeedsResult) frame.meter.charge(callCost(name, overloadId, values, result));
    return result;
  };
}

function call(resolved: ResolvedCall, values: readonly Value[], frame: Frame): Value {
  const run = resolved.overloads.find((overload) => fits(overload, values))?.run;
  return run ? run(values, frame.meter) : mismatch(resolved, values);
}

function fits(overload: Overload, values: readonly Value[]): boolean {
  return overload.args.every((type, i) => accepts(type, values[i] ?? null));
}

function mismatch({ declaration }: ResolvedCall, values: readonly Value[]): CelError {
  const { name, isSingleton, overloads } = declaration;
  if (!isSingleton) {
    const types = values.map((value) => formatType(typeOf(value)).replace(/\(.*/, ""));
    return new CelError(`no such overload: ${name}(${types.join(", ")})`);
  }
  const [first = null] = values;
  const hasTrait = overloads.some(({ args }) => args[0] && accepts(args[0], first));
  return hasTrait ? noSuchOverload : new CelError(`no such overload: ${name}`);
}
