import { isJsonObject } from "../schema/json-object.ts";

/** Evaluates a compiled path. Returns the values that it selects. */
export type JsonPath = (root: unknown) => readonly unknown[];

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "wildcard" }
  | { readonly kind: "descend" }
  | {
      readonly kind: "filter";
      readonly path: readonly Step[];
      readonly operator: string;
      readonly value: unknown;
    };

/**
 * Compiles a JSONPath of kubectl's dialect, without braces: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`,
 * `.items[0].name`, `.metadata.labels.a\.b`, `.list[*].x`, `..name`. Undefined when the path is invalid.
 */
export function compileJsonPath(text: string): JsonPath | undefined {
  const steps = parse(text);
  return steps && ((root) => select([root], steps));
}

/** Limit for the values of one path: `..x` on a large object selects many. */
const maxValues = 1_000;

function select(values: readonly unknown[], steps: readonly Step[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>(
    (selected, step) => selected.flatMap((value) => applyStep(value, step)).slice(0, maxValues),
    values,
  );
}

function applyStep(value: unknown, step: Step): readonly unknown[] {
  switch (step.kind) {
    case "field":
      return isJsonObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case "index": {
      const item: unknown = Array.isArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case "wildcard":
      return childrenOf(value);
    case "descend":
      return descend(value);
    case "filter":
      return childrenOf(value).filter((item) => {
        const [found] = select([item], step.path);
        return compare(found, step.operator, step.value);
      });
  }
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

function descend(value: unknown): readonly unknown[] {
  const all: unknown[] = [value];
  for (let i = 0; i < all.length && all.length < maxValues; i++) all.push(...childrenOf(all[i]));
  return all;
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  if (operator === "") return left !== undefined;
  if (left === undefined) return false;
  switch (operator) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
  }
  if (typeof left !== typeof right || (typeof left !== "number" && typeof left !== "string")) return false;
  const [a, b] = [left, right] as [number, number];
  if (operator === "<") return a < b;
  if (operator === "<=") return a <= b;
  return operator === ">" ? a > b : a >= b;
}

const fieldToken = /^\.((?:[^.[\]\\]|\\.)+)/;
const bracketToken = /^\[(?:(-?\d+)|(\*)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/;
const filterToken =
  /^\[\?\(\s*@((?:[^()'"=!<>\s]|\\.)*)\s*(?:(==|!=|<=|>=|<|>)\s*('[^']*'|"[^"]*"|[^\s)]+)\s*)?\)\]/;

function parse(text: string): Step[] | undefined {
  const steps: Step[] = [];
  for (let rest = text; rest !== "" && rest !== "."; ) {
    if (rest.startsWith("..")) {
      steps.push({ kind: "descend" });
      rest = rest.slice(1);
      continue;
    }
    const field = fieldToken.exec(rest);
    const bracket = field ? undefined : bracketToken.exec(rest);
    const filter = field || bracket ? undefined : filterToken.exec(rest);
    const match = field ?? bracket ?? filter;
    if (!match) return undefined;
    if (field) {
      const name = unescaped(field[1] ?? "");
      steps.push(name === "*" ? { kind: "wildcard" } : { kind: "field", name });
    } else if (bracket) {
      const [, index, wildcard, single, double] = bracket;
      if (index !== undefined) steps.push({ kind: "index", index: Number(index) });
      else if (wildcard) steps.push({ kind: "wildcard" });
      else steps.push({ kind: "field", name: unescaped(single ?? double ?? "") });
    } else if (filter) {
      const path = parse(filter[1] ?? "");
      if (!path) return undefined;
      steps.push({ kind: "filter", path, operator: filter[2] ?? "", value: literal(filter[3] ?? "") });
    }
    rest = rest.slice(match[0].length);
  }
  return steps;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, "$1");
}

function literal(text: string): unknown {
  if (/^['"]/.test(text)) return text.slice(1, -1);
  if (text === "true" || text === "false") return text === "true";
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}
