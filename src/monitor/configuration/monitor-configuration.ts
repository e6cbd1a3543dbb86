import { validateHeaderName, validateHeaderValue } from "node:http";
import { parse } from "yaml";
import { FieldErrors } from "../../api/meta/field-errors.ts";
import { qualifiedNameProblems } from "../../api/meta/names.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { Objective } from "../slo/objective.ts";
import { parseObjectives } from "../slo/parse-objectives.ts";

/** Configuration of a monitor, with defaults applied and validated. docs/monitor.md describes the fields. */
export interface MonitorConfiguration {
  readonly chosenLabels: readonly string[];
  readonly chosenAnnotations: readonly string[];
  readonly stuckAfterSeconds: number;
  readonly metrics: {
    readonly valuesPerLabel: number;
    readonly classes: number;
    /** Maximum number of pods with their own series; 0 disables them. */
    readonly podSeries: number;
  };
  readonly objectives: readonly Objective[];
  /** Collector of traces. Undefined disables tracing. */
  readonly otlp:
    | { readonly endpoint: string; readonly headers: Readonly<Record<string, string>> }
    | undefined;
}

type Mapping = Readonly<Record<string, unknown>>;

const fields = ["chosenLabels", "chosenAnnotations", "stuckAfterSeconds", "metrics", "objectives", "otlp"];
/** Maximum number of chosen keys; each is a label on every metric. */
const maxChosen = 10;

/** Parses a configuration file. `file` is its name for messages. Throws an error that lists all invalid fields. */
export function parseMonitorConfiguration(text: string, file: string): MonitorConfiguration {
  const at = new FieldErrors("");
  const top = mapping(at, parseYaml(text, file) ?? {}, fields);
  const inMetrics = at.child("metrics");
  const metrics = mapping(inMetrics, top.metrics ?? {}, ["valuesPerLabel", "classes", "podSeries"]);
  const chosenLabels = keys(at, "chosenLabels", top.chosenLabels);
  const chosenAnnotations = keys(at, "chosenAnnotations", top.chosenAnnotations);
  chosenAnnotations.forEach((key, i) => {
    // Labels and annotations share one set of names in a class.
    if (chosenLabels.includes(key)) at.duplicate(`chosenAnnotations[${i}]`, key);
  });
  const configuration = {
    chosenLabels,
    chosenAnnotations,
    stuckAfterSeconds: integer(at, "stuckAfterSeconds", top.stuckAfterSeconds ?? 300, [1, 86_400]),
    metrics: {
      valuesPerLabel: integer(inMetrics, "valuesPerLabel", metrics.valuesPerLabel ?? 100, [1, 10_000]),
      classes: integer(inMetrics, "classes", metrics.classes ?? 200, [1, 10_000]),
      podSeries: integer(inMetrics, "podSeries", metrics.podSeries ?? 0, [0, 100_000]),
    },
    otlp: top.otlp === undefined || top.otlp === null ? undefined : readOtlp(at.child("otlp"), top.otlp),
  };
  if (at.errors.length > 0) {
    const lines = at.errors.map(({ field, message }) => `${field || "the file"}: ${message}`);
    throw new Error(`${file} is not a valid monitor configuration:\n  ${lines.join("\n  ")}`);
  }
  const chosen = [...chosenLabels, ...chosenAnnotations];
  // JSON is YAML, so the objectives are parsed like a separate file.
  const objectives = parseObjectives(JSON.stringify({ objectives: top.objectives ?? [] }), { file, chosen });
  return { ...configuration, objectives };
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch (error) {
    throw new Error(`${file} is not YAML: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}

function readOtlp(at: FieldErrors, value: unknown): MonitorConfiguration["otlp"] {
  const { endpoint, headers = {} } = mapping(at, value, ["endpoint", "headers"]);
  const isUrl =
    typeof endpoint === "string" &&
    /^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : "");
  if (endpoint === undefined)
    at.required("endpoint", "the collector's address, such as http://localhost:4318/v1/traces");
  else if (!isUrl)
    at.invalid("endpoint", endpoint, "must be an http or https URL, such as http://localhost:4318/v1/traces");
  const entries = Object.entries(mapping(at.child("headers"), headers));
  const texts = entries.flatMap(([name, text]) => {
    if (typeof text !== "string") at.invalid(`headers[${name}]`, text, "must be a string");
    else if (!isHeader(name, text)) at.invalid(`headers[${name}]`, text, "cannot be sent as an HTTP header");
    else return [[name, text] as const];
    return [];
  });
  return { endpoint: String(endpoint), headers: Object.fromEntries(texts) };
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** Reports a value that is not a mapping and, if `known` is given, unknown fields. */
function mapping(at: FieldErrors, value: unknown, known?: readonly string[]): Mapping {
  if (!isMapping(value)) {
    at.invalid("", value, "must be a mapping of fields");
    return {};
  }
  for (const key of Object.keys(value)) {
    if (known && !known.includes(key)) at.forbidden(key, `unknown field; known fields: ${known.join(", ")}`);
  }
  return value;
}

/** Keys of labels or annotations. */
function keys(at: FieldErrors, field: string, value: unknown = []): readonly string[] {
  if (!Array.isArray(value)) {
    at.invalid(field, value, "must be a list of keys");
    return [];
  }
  if (value.length > maxChosen) at.tooMany(field, value.length, maxChosen);
  const found: string[] = [];
  value.forEach((key: unknown, i) => {
    const place = `${field}[${i}]`;
    if (typeof key !== "string") at.invalid(place, key, "must be a string");
    else if (found.includes(key)) at.duplicate(place, key);
    else {
      at.problems(place, key, qualifiedNameProblems(key));
      found.push(key);
    }
  });
  return found;
}

function integer(
  at: FieldErrors,
  field: string,
  value: unknown,
  [min, max]: readonly [number, number],
): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  at.invalid(field, value, `must be a whole number from ${min} to ${max}`);
  return min;
}
