import { parse } from "yaml";
import { stages } from "../measure/start-signal.ts";
import { parseDuration } from "./duration.ts";
import type { Measure, Objective, ObjectiveSelector } from "./objective.ts";

const measures: readonly Measure[] = [
  "start",
  "first-sandbox",
  "recreation",
  "pull",
  "termination",
  ...stages,
];
const defaultWindow = "28d";
const shortestWindowMs = 60_000;
const longestWindowMs = 366 * 86_400_000;
/** Each keeps counts of its own. */
const mostObjectives = 100;

type Mapping = Readonly<Record<string, unknown>>;

export interface ParseOptions {
  /** Where the text came from: messages begin with it. */
  readonly file: string;
  /** Keys of labels and annotations that are part of a pod's class: no others can be selected by. */
  readonly chosen: readonly string[];
}

export function parseObjectives(text: string, { file, chosen }: ParseOptions): Objective[] {
  try {
    const top = mapping(parse(text, { maxAliasCount: 0 }) ?? {}, "the file", ["objectives"]);
    const list = top.objectives ?? [];
    if (!Array.isArray(list)) throw new Error("objectives must be a list");
    if (list.length > mostObjectives)
      throw new Error(`objectives: ${list.length} are too many; ${mostObjectives} is the most`);
    const objectives = list.map((item: unknown, i) => readObjective(item, `objectives[${i}]`, chosen));
    objectives.forEach(({ name }, i) => {
      const first = objectives.findIndex((other) => other.name === name);
      if (first !== i)
        throw new Error(`objectives[${i}].name: ${JSON.stringify(name)} is that of objectives[${first}] too`);
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
    throw new Error(`${field}.kind: ${show(kind)} is no kind of objective; write latency or success`);
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
    throw new Error(`${field}: ${show(value)} is no name; write letters, digits, - _ and . (63 at most)`);
  return value;
}

/** `99.9%`, or 0.999. */
function readTarget(value: unknown, field: string): number {
  const [, percent] = typeof value === "string" ? (/^(\d{1,3}(?:\.\d{1,9})?)\s*%$/.exec(value) ?? []) : [];
  // Ten digits: 99.9 divided by 100 is not quite 0.999.
  const target = percent === undefined ? value : Number((Number(percent) / 100).toFixed(10));
  if (typeof target !== "number" || !(target > 0 && target < 1))
    throw new Error(`${field}: ${show(value)} is no share; write one above 0 and below 1, as 99% or 0.99`);
  return target;
}

function readDuration(value: unknown, field: string): number {
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms === undefined || ms <= 0)
    throw new Error(`${field}: ${show(value)} is no length of time; write one such as 10s, 1m30s or 28d`);
  return ms;
}

function readWindow(value: unknown, field: string): number {
  const ms = readDuration(value, field);
  if (ms < shortestWindowMs || ms > longestWindowMs)
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
    if (typeof wanted !== "string") throw new Error(`${at} must be a string; put it in quotes`);
    if (!known.includes(key))
      throw new Error(
        `${at}: the monitor does not look at this key; add it to chosenLabels or chosenAnnotations`,
      );
    chosen[key] = wanted;
  }
  return { ...selector, chosen };
}

function oneOf<T extends string>(value: unknown, field: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined)
    throw new Error(`${field}: ${show(value)} is not known; write one of ${known.join(", ")}`);
  return found;
}

function mapping(value: unknown, field: string, known?: readonly string[]): Mapping {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${field} must be a mapping`);
  const unknown = known && Object.keys(value).find((name) => !known.includes(name));
  if (known && unknown !== undefined)
    throw new Error(`${field} has no field ${JSON.stringify(unknown)}; it has ${known.join(", ")}`);
  return { ...value };
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 100);
}
