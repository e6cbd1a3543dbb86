/** Handling of unknown and duplicate fields. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Limit of upstream. */
const maxErrors = 100;

/** `unknown field "spec.foo"`, `duplicate field "metadata.name"`. Empty when field validation is off. */
export function listStrictErrors(
  body: { unknownFields: readonly string[]; text?: string; value?: unknown },
  fieldValidation: FieldValidation,
): string[] {
  if (fieldValidation === "Ignore") return [];
  const duplicates = body.text === undefined ? [] : findDuplicateKeys(body.text, body.value);
  return [
    ...body.unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`),
    ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
  ].slice(0, maxErrors);
}

export function strictDecodingError(errors: readonly string[]): string {
  return `strict decoding error: ${errors.join(", ")}`;
}

/**
 * Paths of keys that a JSON text contains more than once in one object (`metadata.name`). JSON.parse keeps the last of
 * them without an error. `value` is its result.
 */
export function findDuplicateKeys(text: string, value: unknown): string[] {
  // Duplicates are rare, and comparing two counts is far cheaper than collecting all keys.
  return countKeysInText(text) === countKeys(value) ? [] : scan(text);
}

function countKeysInText(text: string): number {
  let count = 0;
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', start)) {
    const end = endOfString(text, start);
    start = end + 1;
    if (text.charCodeAt(skipSpace(text, start)) === colon) count++;
  }
  return count;
}

function countKeys(value: unknown): number {
  const rest = [value];
  let count = 0;
  while (rest.length > 0) {
    const item = rest.pop();
    if (Array.isArray(item)) {
      for (const child of item) if (isContainer(child)) rest.push(child);
    } else if (isContainer(item)) {
      for (const key in item) {
        count++;
        if (isContainer(item[key])) rest.push(item[key]);
      }
    }
  }
  return count;
}

interface Level {
  /** Path of this object or list. */
  readonly path: string;
  /** Undefined in a list. */
  readonly keys: Set<string> | undefined;
  index: number;
  key: string;
}

function scan(text: string): string[] {
  const duplicates = new Set<string>();
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1);
    switch (text[at]) {
      case "{":
        levels.push({ path: pathOf(level), keys: new Set(), index: 0, key: "" });
        break;
      case "[":
        levels.push({ path: pathOf(level), keys: undefined, index: 0, key: "" });
        break;
      case "}":
      case "]":
        levels.pop();
        break;
      case ",":
        if (level) level.index++;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (level?.keys && text.charCodeAt(skipSpace(text, end + 1)) === colon) {
          level.key = String(JSON.parse(text.slice(at, end + 1)));
          if (level.keys.has(level.key)) duplicates.add(pathOf(level));
          level.keys.add(level.key);
        }
        at = end;
      }
    }
  }
  return [...duplicates];
}

function pathOf(level: Level | undefined): string {
  if (!level) return "";
  if (!level.keys) return `${level.path}[${level.index}]`;
  return level.path ? `${level.path}.${level.key}` : level.key;
}

const colon = 58;
const backslash = 92;

/** Index of the closing quote. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= 32) at++;
  return at;
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
