import type { Expr, IdentExpr } from "./ast.ts";

/** A macro was used in a wrong way. */
export class MacroError {
  readonly offset: number;
  readonly message: string;

  constructor(at: Expr, message: string) {
    this.offset = at.offset;
    this.message = message;
  }
}

/** Builds the expressions of one expansion. All of them have the position of the call. */
type MacroBuilder = ReturnType<typeof createMacroBuilder>;

type Expand = (build: MacroBuilder, args: readonly Expr[], target?: Expr) => Expr | MacroError;

/** Name of the accumulator of all macros, which no expression can contain. */
export const accumulator = "@result";

export function createMacroBuilder(offset: number, newId: () => number) {
  const node = () => ({ id: newId(), offset });
  const ident = (name: string): Expr => ({ kind: "ident", ...node(), name });
  return {
    ident,
    accu: () => ident(accumulator),
    literal: (value: bigint | boolean): Expr => ({ kind: "literal", ...node(), value }),
    list: (...elements: Expr[]): Expr => ({
      kind: "list",
      ...node(),
      elements: elements.map((value) => ({ value, optional: false })),
    }),
    emptyMap: (): Expr => ({ kind: "map", ...node(), entries: [] }),
    call: (fn: string, ...args: Expr[]): Expr => ({ kind: "call", ...node(), fn, target: undefined, args }),
    member: (target: Expr, fn: string, ...args: Expr[]): Expr => ({
      kind: "call",
      ...node(),
      fn,
      target,
      args,
    }),
    presence: (operand: Expr, field: string): Expr => ({
      kind: "select",
      ...node(),
      operand,
      field,
      testOnly: true,
    }),
    loop: (
      range: Expr,
      variables: readonly [string, string?],
      parts: { init: Expr; condition: Expr; step: Expr; result: Expr; accuVar?: string },
    ): Expr => ({
      kind: "comprehension",
      ...node(),
      range,
      iterVar: variables[0],
      iterVar2: variables[1],
      accuVar: parts.accuVar ?? accumulator,
      accuInit: parts.init,
      condition: parts.condition,
      step: parts.step,
      result: parts.result,
    }),
    /** Copy with new identities, for an expression that an expansion contains twice. */
    copy: (expr: Expr): Expr => copyExpr(expr, newId),
  };
}

function copyExpr(expr: Expr, newId: () => number): Expr {
  const copy = (child: Expr) => copyExpr(child, newId);
  const id = newId();
  switch (expr.kind) {
    case "literal":
    case "ident":
      return { ...expr, id };
    case "select":
      return { ...expr, id, operand: copy(expr.operand) };
    case "call":
      return { ...expr, id, target: expr.target && copy(expr.target), args: expr.args.map(copy) };
    case "list":
      return { ...expr, id, elements: expr.elements.map((item) => ({ ...item, value: copy(item.value) })) };
    case "map": {
      const entries = expr.entries.map((entry) => ({
        ...entry,
        key: copy(entry.key),
        value: copy(entry.value),
      }));
      return { ...expr, id, entries };
    }
    case "struct": {
      const fields = expr.fields.map((field) => ({ ...field, id: newId(), value: copy(field.value) }));
      return { ...expr, id, fields };
    }
    case "comprehension":
      return {
        ...expr,
        id,
        range: copy(expr.range),
        accuInit: copy(expr.accuInit),
        condition: copy(expr.condition),
        step: copy(expr.step),
        result: copy(expr.result),
      };
  }
}

function isName(expr: Expr | undefined): expr is IdentExpr {
  return expr?.kind === "ident" && !expr.name.startsWith(".");
}

const overwrites = "iteration variable overwrites accumulator variable";

/** Iteration variables of a macro call. `count` is 1, or 2 for a comprehension over entries. */
function variablesOf(
  args: readonly Expr[],
  count: number,
  notName: string,
): readonly [string, string?] | MacroError {
  const names: string[] = [];
  for (const arg of args.slice(0, count)) {
    if (!isName(arg)) return new MacroError(arg, notName);
    names.push(arg.name);
  }
  const [first = "", second] = names;
  if (first === second) return new MacroError(args[1] as Expr, `duplicate variable name: ${first}`);
  const hidden = args
    .slice(0, count)
    .find((arg) => isName(arg) && (arg.name === accumulator || arg.name === "__result__"));
  return hidden ? new MacroError(hidden, overwrites) : [first, second];
}

type Loop = (
  build: MacroBuilder,
  args: readonly Expr[],
) => { init: Expr; condition: Expr; step: Expr; result: Expr };

/** Macro whose first arguments are iteration variables. */
function loop(variableCount: 1 | 2, parts: Loop, notName = "argument must be a simple name"): Expand {
  return (build, args, target) => {
    const variables = variablesOf(args, variableCount, notName);
    if (variables instanceof MacroError) return variables;
    return build.loop(target as Expr, variables, parts(build, args.slice(variableCount)));
  };
}

const all: Loop = (build, [predicate]) => ({
  init: build.literal(true),
  condition: build.call("@not_strictly_false", build.accu()),
  step: build.call("_&&_", build.accu(), predicate as Expr),
  result: build.accu(),
});

const exists: Loop = (build, [predicate]) => ({
  init: build.literal(false),
  condition: build.call("@not_strictly_false", build.call("!_", build.accu())),
  step: build.call("_||_", build.accu(), predicate as Expr),
  result: build.accu(),
});

const existsOne: Loop = (build, [predicate]) => ({
  init: build.literal(0n),
  condition: build.literal(true),
  step: build.call(
    "_?_:_",
    predicate as Expr,
    build.call("_+_", build.accu(), build.literal(1n)),
    build.accu(),
  ),
  result: build.call("_==_", build.accu(), build.literal(1n)),
});

/** Loop that adds to a list or map: `(transform)` or `(filter, transform)`. */
function collect(
  empty: (build: MacroBuilder) => Expr,
  add: (build: MacroBuilder, transform: Expr) => Expr,
): Loop {
  return (build, args) => {
    const init = empty(build);
    const condition = build.literal(true);
    const step = add(build, args.at(-1) as Expr);
    const filtered = args.length === 2 ? build.call("_?_:_", args[0] as Expr, step, build.accu()) : step;
    return { init, condition, step: filtered, result: build.accu() };
  };
}

const list = collect(
  (build) => build.list(),
  (build, transform) => build.call("_+_", build.accu(), build.list(transform)),
);

const filter: Expand = (build, args, target) =>
  loop(
    1,
    (_, [predicate]) => list(build, [predicate as Expr, args[0] as Expr]),
    "argument is not an identifier",
  )(build, args, target);

const transformMap: Expand = (build, args, target) =>
  loop(
    2,
    collect(
      () => build.emptyMap(),
      (_, transform) =>
        build.call("cel.@mapInsert", build.accu(), build.ident((args[0] as IdentExpr).name), transform),
    ),
  )(build, args, target);

const transformMapEntry = loop(
  2,
  collect(
    (build) => build.emptyMap(),
    (build, transform) => build.call("cel.@mapInsert", build.accu(), transform),
  ),
);

const has: Expand = (build, [arg]) =>
  arg?.kind === "select"
    ? build.presence(arg.operand, arg.field)
    : new MacroError(arg as Expr, "invalid argument to has() macro");

/** `optional.optMap(v, e)`: `e` of the value, if there is one. */
function optionalMap(name: string, wrap: (build: MacroBuilder, value: Expr) => Expr): Expand {
  return (build, [variable, body], target) => {
    if (!isName(variable))
      return new MacroError(variable as Expr, `${name}() variable name must be a simple identifier`);
    const bind = build.loop(build.list(), ["#unused"], {
      accuVar: variable.name,
      init: build.member(build.copy(target as Expr), "value"),
      condition: build.literal(false),
      step: build.ident(variable.name),
      result: body as Expr,
    });
    const hasValue = build.member(target as Expr, "hasValue");
    return build.call("_?_:_", hasValue, wrap(build, bind), build.call("optional.none"));
  };
}

/** `list.sortBy(e, key)`: the list in the order of its keys. The list is bound to a variable, so that it is computed once. */
const sortBy: Expand = (build, args, target) => {
  const input = "@__sortBy_input__";
  if (!target || target.kind === "literal" || target.kind === "map" || target.kind === "struct") {
    const detail =
      "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
    return new MacroError(target as Expr, detail);
  }
  const keys = loop(1, list, "argument is not an identifier")(build, args, build.ident(input));
  if (keys instanceof MacroError) return keys;
  return build.loop(build.list(), ["#unused"], {
    accuVar: input,
    init: target,
    condition: build.literal(false),
    step: build.ident(input),
    result: build.member(build.ident(input), "@sortByAssociatedKeys", keys),
  });
};

/** Macros by name, number of arguments and whether they have a receiver. */
export const macros: ReadonlyMap<string, Expand> = new Map([
  ["has:1:false", has],
  ["all:2:true", loop(1, all)],
  ["exists:2:true", loop(1, exists)],
  ["exists_one:2:true", loop(1, existsOne)],
  ["existsOne:2:true", loop(1, existsOne)],
  ["map:2:true", loop(1, list, "argument is not an identifier")],
  ["map:3:true", loop(1, list, "argument is not an identifier")],
  ["filter:2:true", filter],
  ["all:3:true", loop(2, all)],
  ["exists:3:true", loop(2, exists)],
  ["exists_one:3:true", loop(2, existsOne)],
  ["existsOne:3:true", loop(2, existsOne)],
  ["transformList:3:true", loop(2, list)],
  ["transformList:4:true", loop(2, list)],
  ["transformMap:3:true", transformMap],
  ["transformMap:4:true", transformMap],
  ["transformMapEntry:3:true", transformMapEntry],
  ["transformMapEntry:4:true", transformMapEntry],
  ["sortBy:2:true", sortBy],
  ["optMap:2:true", optionalMap("optMap", (build, value) => build.call("optional.of", value))],
  ["optFlatMap:2:true", optionalMap("optFlatMap", (_, value) => value)],
]);
