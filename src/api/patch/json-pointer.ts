import { define, isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { doesNotApply } from "./patch-error.ts";

/** Where a JSON pointer leads: the object or list that holds the value, and the value's key in it. */
export interface Place {
  readonly container: JsonObject | unknown[];
  readonly key: string;
}

/** Throws when anything but the last step is missing. */
export function findPlace(root: unknown, pointer: string): Place {
  const [, ...steps] = pointer.split("/").map(unescapeStep);
  const key = steps.pop();
  let container = root;
  for (const step of steps) {
    container = isContainer(container) ? readPlace({ container, key: step }) : undefined;
  }
  if (key === undefined || !isContainer(container)) throw doesNotApply(`doc is missing path: ${pointer}`);
  return { container, key };
}

/** Undefined for a missing key of an object; throws for a list that has no such index. */
export function readPlace({ container, key }: Place): unknown {
  if (Array.isArray(container)) return container[indexOf(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

export function setPlace({ container, key }: Place, value: unknown): void {
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value;
  else define(container, key, value);
}

/** As `setPlace`, but what a list has from there on moves up by one. `-` is its end. */
export function addPlace({ container, key }: Place, value: unknown): void {
  if (!Array.isArray(container)) define(container, key, value);
  else if (key === "-") container.push(value);
  else container.splice(indexOf(key, container.length + 1), 0, value);
}

export function removePlace({ container, key }: Place): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(key, container.length), 1);
    return;
  }
  if (!Object.hasOwn(container, key)) throw doesNotApply(`Unable to remove nonexistent key: ${key}`);
  delete container[key];
}

/** Negative indexes count from the end, as upstream has it. */
function indexOf(key: string, length: number): number {
  const index = /^[+-]?\d+$/.test(key) ? Number(key) : Number.NaN;
  const fromStart = index < 0 ? index + length : index;
  if (!(fromStart >= 0 && fromStart < length)) throw doesNotApply(`Unable to access invalid index: ${key}`);
  return fromStart;
}

function isContainer(value: unknown): value is JsonObject | unknown[] {
  return Array.isArray(value) || isJsonObject(value);
}

function unescapeStep(step: string): string {
  return step.includes("~") ? step.replace(/~[01]/g, (escaped) => (escaped === "~1" ? "/" : "~")) : step;
}
