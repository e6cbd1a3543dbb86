import {
  convertEventToCore,
  convertEventToNew,
  type NewEvent,
} from "../../../api/kinds/core/event/convert-event.ts";
import type { Event as CoreEvent, KubeObject } from "../../../api/meta/objects.ts";
import type { Resource } from "../../../api/meta/resource.ts";
import type { Format } from "./negotiate.ts";

/** Encodes a value in the negotiated format. */
export async function encode(value: unknown, options: { format: Format; pretty?: boolean }): Promise<string> {
  if (options.format === "yaml") return toYaml(value);
  // Upstream ends compact JSON with a newline, and indented JSON with none.
  return options.pretty ? JSON.stringify(value, undefined, 2) : `${JSON.stringify(value)}\n`;
}

const trueWords = new Set(["1", "t", "T", "true", "TRUE", "True"]);

/** Whether JSON is indented: with `?pretty=true`, and by default for curl, wget and browsers. */
export function wantsPretty(request: { pretty?: string | null; userAgent?: string }): boolean {
  if (request.pretty) return trueWords.has(request.pretty);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(request.userAgent ?? "");
}

const maxTotal = 4 * 1_024;
const maxItem = 256;

/**
 * Limits the warnings, which are sent as headers, because clients reject responses with too long headers. Duplicates
 * are dropped. As upstream, warnings are truncated if their total is too long, and dropped if they still do not fit.
 */
export function limitWarnings(warnings: readonly string[]): readonly string[] {
  const distinct = [...new Set(warnings)].filter(Boolean);
  if (distinct.reduce((sum, { length }) => sum + length, 0) <= maxTotal) return distinct;
  const kept: string[] = [];
  let written = 0;
  for (const warning of distinct) {
    if (written >= maxTotal) break;
    const cut = warning.slice(0, maxItem);
    kept.push(cut);
    written += cut.length;
  }
  return kept;
}

/*
 * Events are served in two groups, core and events.k8s.io, from the same stored objects of the core group. Every other
 * kind is stored in the form in which it is served.
 */

export function isConverted(resource: Resource): boolean {
  return resource.group === "events.k8s.io";
}

/** JSON of a stored object in the form of the requested API group. */
export function presentJson(json: string, resource: Resource): string {
  return isConverted(resource) ? JSON.stringify(convertEventToNew(JSON.parse(json))) : json;
}

export function presentObject(object: KubeObject, resource: Resource): KubeObject {
  return isConverted(resource) ? convertEventToNew(object as CoreEvent) : object;
}

/** Converts a received object to the stored kind. */
export function toStoredKind(object: KubeObject, resource: Resource): KubeObject {
  return isConverted(resource) ? convertEventToCore(object as NewEvent) : object;
}

/**
 * JSON values as YAML, with sorted keys, as upstream writes it. It is read the same by parsers of YAML 1.1 and 1.2:
 * what either could take for something else (`on`, `0o17`, a date) is quoted. A library that can write everything
 * takes seconds for a list of some thousand objects, and nothing else runs meanwhile.
 */
export function toYaml(value: unknown): string {
  const lines: string[] = [];
  writeNode(lines, { lead: "", indent: "", value });
  return `${lines.join("\n")}\n`;
}

interface Place {
  /** Text that is already on the line: indentation, `- `, `key:`. */
  readonly lead: string;
  /** Indentation of the following lines of a multi-line value. */
  readonly indent: string;
  readonly value: unknown;
}

function writeNode(lines: string[], { lead, indent, value }: Place): void {
  if (Array.isArray(value) && value.length > 0) writeList(lines, { lead, indent, value });
  else if (isObject(value) && Object.keys(value).length > 0) writeMap(lines, { lead, indent, value });
  else lines.push(join(lead, scalar(value, indent)));
}

function writeList(lines: string[], { lead, indent, value }: Place & { value: readonly unknown[] }): void {
  let start = lead;
  if (lead.endsWith(":")) {
    lines.push(lead);
    start = indent;
  }
  for (const item of value) {
    writeNode(lines, { lead: `${start}- `, indent: `${indent}  `, value: item ?? null });
    start = indent;
  }
}

function writeMap(lines: string[], { lead, indent, value }: Place & { value: object }): void {
  let start = lead;
  let inner = indent;
  if (lead.endsWith(":")) {
    lines.push(lead);
    inner = `${indent}  `;
    start = inner;
  }
  for (const key of Object.keys(value).sort()) {
    const entry = (value as Record<string, unknown>)[key];
    if (entry === undefined) continue;
    writeNode(lines, { lead: `${start}${quote(key)}:`, indent: inner, value: entry });
    start = inner;
  }
}

function join(lead: string, text: string): string {
  return lead.endsWith(":") ? `${lead} ${text}` : lead + text;
}

function scalar(value: unknown, indent: string): string {
  if (Array.isArray(value)) return "[]";
  if (isObject(value)) return "{}";
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  return isBlock(value) ? block(value, `${indent}  `) : quote(value);
}

/** Whether text can be written as a block: several lines without escapes. */
function isBlock(text: string): boolean {
  return (
    /^[\x21-\x7e\xa1-\ud7ff][\t\n\x20-\x7e\xa0-\ud7ff]*$/.test(text) &&
    text.includes("\n") &&
    !/[\u2028\u2029]/.test(text)
  );
}

function block(text: string, indent: string): string {
  const chomping = text.endsWith("\n\n") ? "+" : text.endsWith("\n") ? "" : "-";
  const body = text.replace(/\n$/, "").replaceAll(/^(?=.)/gm, indent);
  return `|${chomping}\n${body}`;
}

const plain =
  /^(?:[A-Za-z/][\w./@+-]*|[0-9]+(?:\.[0-9]+){2,})(?::[\w./@+-]+)*(?: [\w./@+-]+(?::[\w./@+-]+)*)*$/;
const ambiguous = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

function quote(text: string): string {
  return plain.test(text) && !ambiguous.test(text) ? text : JSON.stringify(text);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
