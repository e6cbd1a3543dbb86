import type { KubeObject } from "../../api/objects.ts";
import { endOfJsonValue } from "./json-scan.ts";

/*
 * A write of a status leaves the spec alone, which is most of an object. So it is neither parsed nor written anew: the
 * object has its text, and parses it for whoever looks.
 */

interface LazySpec {
  readonly text: string;
  /** What the text says, once somebody has looked; from then on this counts, for it may have been changed. */
  parsed?: { readonly value: unknown };
}

type WithSpec = KubeObject & { spec?: unknown };

const lazySpecs = new WeakMap<object, LazySpec>();
const specField = ',"spec":';

/** Parses all of a stored object but its spec. The metadata is at `metadataAt`, and the spec, if any, right behind it. */
export function parseButSpec(json: string, metadataAt: number): KubeObject {
  const metadataEnd = endOfJsonValue(json, metadataAt);
  if (!json.startsWith(specField, metadataEnd)) return JSON.parse(json);
  const specAt = metadataEnd + specField.length;
  const specEnd = endOfJsonValue(json, specAt);
  const object: KubeObject = JSON.parse(json.slice(0, metadataEnd) + json.slice(specEnd));
  defineSpec(object, { text: json.slice(specAt, specEnd) });
  return object;
}

/** A copy of the object, one level deep, without its spec. */
export function withoutSpec<T extends KubeObject>(object: T): T {
  const rest: Partial<T> = {};
  for (const field in object) if (field !== "spec") rest[field] = object[field];
  return rest as T;
}

/** Gives `next` the spec that `current` has, or none. */
export function keepSpec(next: WithSpec, current: WithSpec): void {
  const lazy = lazySpecOf(current);
  if (lazy) defineSpec(next, lazy);
  else if (current.spec === undefined) delete next.spec;
  else next.spec = current.spec;
}

/** The text of the object's spec, as long as nobody has looked at it. */
export function unparsedSpec(object: KubeObject): string | undefined {
  const lazy = lazySpecOf(object);
  return lazy?.parsed ? undefined : lazy?.text;
}

/** Undefined too when the spec has been deleted. */
function lazySpecOf(object: WithSpec): LazySpec | undefined {
  return Object.hasOwn(object, "spec") ? lazySpecs.get(object) : undefined;
}

function defineSpec(object: WithSpec, lazy: LazySpec): void {
  lazySpecs.set(object, lazy);
  Object.defineProperty(object, "spec", lazyProperty);
}

/** The same two functions for all objects, so that those can share a shape. */
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
