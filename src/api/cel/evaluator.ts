import type { CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr, SelectExpr, StructExpr } from "./ast.ts";
import {
  type Attribute,
  addQualifier,
  type Frame,
  type Qualifier,
  type Run,
  resolveAttribute,
} from "./attributes.ts";
import { constantFrame, dispatch, equality, fold, logical, type Plan, PlanError } from "./calls.ts";
import type { Checked, ResolvedCall } from "./checker.ts";
import type { StructProvider } from "./environment.ts";
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  EntryMap,
  ListBuilder,
  noSuchOverload,
  Optional,
  TypeValue,
  type Value,
} from "./values.ts";

const listCost = 10;
const mapCost = 30;
const structCost = 40;

interface Loop {
  readonly expr: ComprehensionExpr;
  /** Whether the iteration variables are visible: not in the result. */
  hidesItems: boolean;
}

/** Makes a checked expression executable. Costs are those of cel-go with the options of Kubernetes. Throws PlanError. */
export function planExpression(root: Expr, checked: Checked, structs?: StructProvider): Run {
  const loops: Loop[] = [];
  return plan(root).run;

  function plan(expr: Expr): Plan {
    switch (expr.kind) {
      case "literal":
        return constant(expr.value);
      case "ident":
        return planReference(expr) ?? variablePlan(expr.name);
      case "select":
        return planReference(expr) ?? planSelect(expr);
      case "call":
        return planCall(expr);
      case "list":
        return planList(expr);
      case "map":
        return planMap(expr);
      case "struct":
        return planStruct(expr);
      case "comprehension":
        return planLoop(expr);
    }
  }

  function constant(value: Value): Plan {
    return { constant: value, run: () => value };
  }

  function attributePlan(attribute: Attribute): Plan {
    const cost = attribute.kind === "path" ? 1 : 0;
    const run: Run = (frame) => {
      const value = resolveAttribute(attribute, frame);
      frame.meter.charge(cost);
      return value;
    };
    return { run, attribute };
  }

  function toAttribute({ attribute, run }: Plan): Attribute {
    return attribute ?? { kind: "path", base: run, qualifiers: [] };
  }

  function planReference(expr: Expr): Plan | undefined {
    const reference = checked.references.get(expr.id);
    if (!reference) return undefined;
    return reference.kind === "type" ? constant(new TypeValue(reference.type)) : variablePlan(reference.name);
  }

  function variablePlan(name: string): Plan {
    return attributePlan({ kind: "path", base: readVariable(name), qualifiers: [] });
  }

  /** Reads a variable of the innermost loop that declares it, or one of the environment. */
  function readVariable(name: string): Run {
    for (let hops = 0; hops < loops.length; hops++) {
      const { expr, hidesItems } = loops[loops.length - 1 - hops] as Loop;
      const at = (frame: Frame): Frame => {
        let found = frame;
        for (let i = 0; i < hops; i++) found = found.parent ?? found;
        return found;
      };
      if (name === expr.accuVar) return (frame) => accumulated(at(frame));
      if (!hidesItems && name === expr.iterVar) return (frame) => at(frame).item;
      if (!hidesItems && name === expr.iterVar2) return (frame) => at(frame).item2;
    }
    return (frame) => {
      const value = frame.variable(name);
      return value === undefined ? new CelError(`no such attribute(s): ${name}`) : value;
    };
  }

  function planSelect(expr: SelectExpr): Plan {
    const operand = toAttribute(plan(expr.operand));
    const qualifier: Qualifier = { key: expr.field, isOptional: false, isTest: expr.testOnly, cost: 1 };
    const attribute = addQualifier(operand, qualifier);
    if (!expr.testOnly) return attributePlan(attribute);
    // As upstream configures cel-go, the test itself is free.
    const run: Run = (frame) => {
      const value = resolveAttribute(attribute, frame);
      return value instanceof Optional ? value.value !== undefined : value;
    };
    return { run };
  }

  function planCall(expr: CallExpr): Plan {
    const resolved = checked.calls.get(expr.id);
    if (!resolved) throw new PlanError(`unresolved call of ${expr.fn}`);
    const args = (resolved.hasTarget && expr.target ? [expr.target, ...expr.args] : expr.args).map(plan);
    const [first, second, third] = args as [Plan, Plan, Plan];
    switch (resolved.declaration.name) {
      case "_&&_":
        return { run: logical(first.run, second.run, false) };
      case "_||_":
        return { run: logical(first.run, second.run, true) };
      case "_?_:_": {
        const condition = first.run;
        return attributePlan({
          kind: "ternary",
          condition,
          yes: toAttribute(second),
          no: toAttribute(third),
        });
      }
      case "_[_]":
        return planIndex(first, second, false);
      case "_?._":
      case "_[?_]":
        return planIndex(first, second, true);
      case "_==_":
        return { run: equality(first.run, second.run, "_==_", "equals") };
      case "_!=_":
        return { run: equality(first.run, second.run, "_!=_", "not_equals") };
      case "@not_strictly_false":
        return {
          run: (frame) => {
            const value = first.run(frame);
            frame.meter.charge(1);
            return typeof value === "boolean" ? value : true;
          },
        };
      case "or":
      case "orValue":
        return planOptionalOr(resolved, first, second);
      default:
        return fold(resolved, args, { run: dispatch(resolved, args) });
    }
  }

  function planIndex(operand: Plan, index: Plan, isOptional: boolean): Plan {
    const { constant: key, attribute } = index;
    const run: Run = attribute ? (frame) => resolveAttribute(attribute, frame) : index.run;
    const cost = attribute?.kind === "ternary" ? 0 : 1;
    return attributePlan(
      addQualifier(toAttribute(operand), { key: key ?? run, isOptional, isTest: false, cost }),
    );
  }

  function planOptionalOr({ declaration }: ResolvedCall, left: Plan, right: Plan): Plan {
    const unwraps = declaration.name === "orValue";
    const run: Run = (frame) => {
      const value = left.run(frame);
      if (!(value instanceof Optional)) return value;
      if (value.value === undefined) return right.run(frame);
      return unwraps ? value.value : value;
    };
    return { run };
  }

  function planList(expr: ListExpr): Plan {
    const elements = expr.elements.map(({ value, optional }) => ({ ...plan(value), optional }));
    const create: Run = (frame) => {
      const items: Value[] = [];
      for (const { run, optional } of elements) {
        const item = run(frame);
        if (item instanceof CelError) return item;
        if (!optional) items.push(item);
        else if (!(item instanceof Optional))
          return new CelError("cannot initialize optional list element from non-optional value");
        else if (item.value !== undefined) items.push(item.value);
      }
      return new ArrayList(items);
    };
    return createPlan(create, listCost, elements);
  }

  function planMap(expr: MapExpr): Plan {
    const entries = expr.entries.map(({ key, value, optional }) => ({
      key: plan(key),
      value: plan(value),
      optional,
    }));
    const create: Run = (frame) => {
      const map = new EntryMap();
      for (const { key, value, optional } of entries) {
        const name = key.run(frame);
        if (name instanceof CelError) return name;
        const item = value.run(frame);
        if (item instanceof CelError) return item;
        if (!optional) map.set(name, item);
        else if (!(item instanceof Optional))
          return new CelError("cannot initialize optional entry from non-optional value");
        else if (item.value !== undefined) map.set(name, item.value);
      }
      return map;
    };
    return createPlan(
      create,
      mapCost,
      entries.flatMap(({ key, value }) => [key, value]),
    );
  }

  /** Plan of a literal with elements. It is constant if they are. */
  function createPlan(create: Run, cost: number, parts: readonly Plan[]): Plan {
    if (parts.every((part) => part.constant !== undefined)) return constant(create(constantFrame()));
    const run: Run = (frame) => {
      const value = create(frame);
      frame.meter.charge(cost);
      return value;
    };
    return { run };
  }

  function planStruct(expr: StructExpr): Plan {
    const fields = expr.fields.map(({ name, value, optional }) => ({ name, optional, run: plan(value).run }));
    const run: Run = (frame) => {
      const values = new Map<string, Value>();
      for (const { name, optional, run: runField } of fields) {
        const value = runField(frame);
        if (value instanceof CelError) return value;
        if (!optional || !(value instanceof Optional)) values.set(name, value);
        else if (value.value !== undefined) values.set(name, value.value);
      }
      frame.meter.charge(structCost);
      return structs?.create?.(expr.typeName, values) ?? new CelError(`unknown type: ${expr.typeName}`);
    };
    return { run };
  }

  function planLoop(expr: ComprehensionExpr): Plan {
    const range = plan(expr.range).run;
    const init = plan(expr.accuInit).run;
    const loop: Loop = { expr, hidesItems: false };
    loops.push(loop);
    const condition = plan(expr.condition).run;
    const step = plan(expr.step).run;
    loop.hidesItems = true;
    const result = plan(expr.result).run;
    loops.pop();
    const hasTwo = expr.iterVar2 !== undefined;
    return {
      run: (frame) => {
        const source = range(frame);
        if (source instanceof CelError) return source;
        if (!(source instanceof CelList || source instanceof CelMap)) return noSuchOverload;
        const { meter, variable } = frame;
        const own: Frame = { meter, variable, parent: frame, init, accu: undefined, item: null, item2: null };
        for (const [item, item2] of entriesOf(source, hasTwo)) {
          frame.meter.spend(1);
          own.item = item;
          own.item2 = item2;
          if (condition(own) === false) break;
          own.accu = step(own);
        }
        const value = result(own);
        return value instanceof ListBuilder ? new ArrayList(value.items) : value;
      },
    };
  }
}

/** Accumulator of a loop, which is initialized when it is first read. A loop can add to a new list without copying it. */
function accumulated(frame: Frame): Value {
  if (frame.accu === undefined) {
    const init = frame.init && frame.parent ? frame.init(frame.parent) : null;
    frame.accu = init instanceof CelList && init.length === 0 ? new ListBuilder() : init;
  }
  return frame.accu;
}

function* entriesOf(source: CelList | CelMap, hasTwo: boolean): Generator<readonly [Value, Value]> {
  if (source instanceof CelMap) {
    for (const key of source.keys()) yield [key, hasTwo ? (source.find(key) ?? null) : null];
    return;
  }
  for (let i = 0; i < source.length; i++) {
    const item = source.at(i);
    yield hasTwo ? [BigInt(i), item] : [item, null];
  }
}
