import { parse } from "yaml";
import { stages } from "../measure/start-signal.ts";
import { type Measure, type Objective, type ObjectiveSelector, parseDuration } from "./objective.ts";

const measures: readonly Measure[] = [
  "start",
  "first-sandbox",
  "recreation",
  "pull",
  "termination",
  ...stages,
];
const defaultWindow = "28d";
const minWindowMs = 60_000;
const maxWindowMs = 366 * 86_400_000;
/** Maximum number of objectives; each keeps its own counts. */
const maxObjectives = 100;

type Mapping = Readonly<Record<string, unknown>>;

export interface ParseOptions {
  /** Name of the file, for messages. */
  readonly file: string;
  /** Keys of labels and annotations that are part of a pod's class; only these can be used in selectors. */
  readonly chosen: readonly string[];
}

export function parseObjectives(text: string, { file, chosen }: ParseOptions): Objective[] {
  try {
    const top = mapping(parse(text, { maxAliasCount: 0 }) ?? {}, "the file", ["objectives"]);
    const list = top.objectives ?? [];
    if (!Array.isArray(list)) throw new Error("objectives must be a list");
    if (list.length > maxObjectives)
      throw new Error(`objectives: the file has ${list.length} objectives; the maximum is ${maxObjectives}`);
    const objectives = list.map((item: unknown, i) => readObjective(item, `objectives[${i}]`, chosen));
    objectives.forEach(({ name }, i) => {
      const first = objectives.findIndex((other) => other.name === name);
      if (first !== i)
        throw new Error(
          `objectives[${i}].name: ${JSON.stringify(name)} is already the name of objectives[${first}]`,
        );
    });
    return objectives;
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

const fields = ["name", "kind", "measure", "target", "window", "selector"];

function readObjective(value: unknown, field: string, chosen: readonly string[]): Objective {
  const { kind } = mapping(value, field);
  if (kind !== "latency" && kind !== "success")
    throw new Error(`${field}.kind: ${show(kind)} is not a kind of objective; use latency or success`);
  const limit = kind === "latency" ? "threshold" : "deadline";
  const given = mapping(value, field, [...fields, limit]);
  const base = {
    name: readName(given.name, `${field}.name`),
    target: readTarget(given.target, `${field}.target`),
    windowMs: readWindow(given.window ?? defaultWindow, `${field}.window`),
    selector: readSelector(given.selector ?? {}, `${field}.selector`, chosen),
  };
  const limitMs = readDuration(given[limit], `${field}.${limit}`);
  const at = `${field}.measure`;
  if (kind === "latency")
    return { ...base, kind, measure: oneOf(given.measure, at, measures), thresholdMs: limitMs };
  const measure = oneOf(given.measure ?? "start", at, ["start", "first-sandbox"] as const);
  return { ...base, kind, measure, deadlineMs: limitMs };
}

function readName(value: unknown, field: string): string {
  if (typeof value !== "string" || !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(value))
    throw new Error(
      `${field}: ${show(value)} is not a valid name; use at most 63 letters, digits, -, _ and .`,
    );
  return value;
}

/** Parses `99.9%` or 0.999. */
function readTarget(value: unknown, field: string): number {
  const [, percent] = typeof value === "string" ? (/^(\d{1,3}(?:\.\d{1,9})?)\s*%$/.exec(value) ?? []) : [];
  // Rounded to ten digits, because 99.9 / 100 is not exactly 0.999.
  const target = percent === undefined ? value : Number((Number(percent) / 100).toFixed(10));
  if (typeof target !== "number" || !(target > 0 && target < 1))
    throw new Error(
      `${field}: ${show(value)} is not a valid share; use a value above 0 and below 1, such as 99% or 0.99`,
    );
  return target;
}

function readDuration(value: unknown, field: string): number {
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms === undefined || ms <= 0)
    throw new Error(`${field}: ${show(value)} is not a duration; use for example 10s, 1m30s or 28d`);
  return ms;
}

function readWindow(value: unknown, field: string): number {
  const ms = readDuration(value, field);
  if (ms < minWindowMs || ms > maxWindowMs)
    throw new Error(`${field}: ${show(value)} is not between 1m and 366d`);
  return ms;
}

const lists = ["namespaces", "ownerKinds", "runtimeClasses", "storageClasses"] as const;

function readSelector(value: unknown, field: string, known: readonly string[]): ObjectiveSelector {
  const given = mapping(value, field, [...lists, "chosen"]);
  const selector: Record<string, readonly string[]> = {};
  for (const name of lists) {
    const list = given[name];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length === 0 || !list.every((item) => typeof item === "string"))
      throw new Error(`${field}.${name} must be a list of names`);
    selector[name] = list;
  }
  if (given.chosen === undefined) return selector;
  const chosen: Record<string, string> = {};
  for (const [key, wanted] of Object.entries(mapping(given.chosen, `${field}.chosen`))) {
    const at = `${field}.chosen[${JSON.stringify(key)}]`;
    if (typeof wanted !== "string") throw new Error(`${at} must be a string; quote it`);
    if (!known.includes(key))
      throw new Error(
        `${at}: the monitor does not read this key; add it to chosenLabels or chosenAnnotations`,
      );
    chosen[key] = wanted;
  }
  return { ...selector, chosen };
}

function oneOf<T extends string>(value: unknown, field: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined)
    throw new Error(`${field}: ${show(value)} is not supported; use one of ${known.join(", ")}`);
  return found;
}

function mapping(value: unknown, field: string, known?: readonly string[]): Mapping {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${field} must be a mapping`);
  const unknown = known && Object.keys(value).find((name) => !known.includes(name));
  if (known && unknown !== undefined)
    throw new Error(`${field} has no field ${JSON.stringify(unknown)}; known fields: ${known.join(", ")}`);
  return { ...value };
}

function show(value: unknown): string {
  return value === undefined ? "undefined" : JSON.stringify(value).slice(0, 100);
}
