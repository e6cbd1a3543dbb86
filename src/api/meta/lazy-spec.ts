import type { KubeObject } from "./objects.ts";

/**
 * Most of an object is its spec, which a status update does not change. Such an update therefore neither parses nor
 * encodes the spec: the object keeps the text and parses it on first use.
 */

interface LazySpec {
  readonly text: string;
  /** The parsed spec, after the first use. It replaces the text, because it may have been changed. */
  parsed?: { readonly value: unknown };
}

type WithSpec = KubeObject & { spec?: unknown };

const lazySpecs = new WeakMap<object, LazySpec>();
const specField = ',"spec":';

/** Parses a stored object except for its spec. The metadata starts at `metadataAt`; the spec, if any, follows it. */
export function parseButSpec(json: string, metadataAt: number): KubeObject {
  const metadataEnd = endOfJsonValue(json, metadataAt);
  if (!json.startsWith(specField, metadataEnd)) return JSON.parse(json);
  const specAt = metadataEnd + specField.length;
  const specEnd = endOfJsonValue(json, specAt);
  const object: KubeObject = JSON.parse(json.slice(0, metadataEnd) + json.slice(specEnd));
  defineSpec(object, { text: json.slice(specAt, specEnd) });
  return object;
}

/** Returns a shallow copy of the object without its spec. */
export function withoutSpec<T extends KubeObject>(object: T): T {
  const rest: Partial<T> = {};
  for (const field in object) if (field !== "spec") rest[field] = object[field];
  return rest as T;
}

/** Sets the spec of `next` to that of `current`, or deletes it. */
export function keepSpec(next: WithSpec, current: WithSpec): void {
  const lazy = lazySpecOf(current);
  if (lazy) defineSpec(next, lazy);
  else if (current.spec === undefined) delete next.spec;
  else next.spec = current.spec;
}

/** Text of the object's spec. Undefined once the spec has been parsed. */
export function unparsedSpec(object: KubeObject): string | undefined {
  const lazy = lazySpecOf(object);
  return lazy?.parsed ? undefined : lazy?.text;
}

/** Returns the unparsed spec. Undefined also if the spec has been deleted. */
function lazySpecOf(object: WithSpec): LazySpec | undefined {
  return Object.hasOwn(object, "spec") ? lazySpecs.get(object) : undefined;
}

function defineSpec(object: WithSpec, lazy: LazySpec): void {
  lazySpecs.set(object, lazy);
  Object.defineProperty(object, "spec", lazyProperty);
}

/** Accessor functions shared by all objects, so that V8 can use one hidden class for them. */
const lazyProperty: PropertyDescriptor & ThisType<WithSpec> = {
  enumerable: true,
  configurable: true,
  get() {
    const lazy = lazySpecs.get(this);
    if (!lazy) return undefined;
    lazy.parsed ??= { value: JSON.parse(lazy.text) };
    return lazy.parsed.value;
  },
  set(value: unknown) {
    lazySpecs.delete(this);
    Object.defineProperty(this, "spec", { enumerable: true, configurable: true, writable: true, value });
  },
};

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Returns the end of the JSON value at `start`. The JSON must be valid and contain no whitespace. */
export function endOfJsonValue(json: string, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case quote:
        at = endOfString(json, at);
        if (depth === 0) return at + 1;
        break;
      case openBrace:
      case openBracket:
        depth++;
        break;
      case closeBrace:
      case closeBracket:
        depth--;
        if (depth === 0) return at + 1;
        // The value was a number or a literal, and the enclosing value ends here.
        if (depth < 0) return at;
        break;
      case comma:
        if (depth === 0) return at;
        break;
    }
  }
  return json.length;
}

/** Returns the index of the closing quote of the string at `start`: the first quote that is not escaped. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end !== -1) {
    let before = end - 1;
    while (json.charCodeAt(before) === backslash) before--;
    if ((end - before) % 2 === 1) return end;
    end = json.indexOf('"', end + 1);
  }
  return json.length;
}
