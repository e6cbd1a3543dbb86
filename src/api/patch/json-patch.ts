import { isDeepStrictEqual } from "node:util";
import { jsonKind } from "../schema/decode-error.ts";
import { assertDepth, define, isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { doesNotApply, malformed, PatchError } from "./patch-error.ts";

const maxOperations = 10_000;
/** Limit for all copy operations of a patch, so that a small patch cannot create a huge object. */
const maxCopiedBytes = 3 * 1024 * 1024;

interface Document {
  root: unknown;
  copiedBytes: number;
}

/**
 * Applies a JSON patch (RFC 6902) with the extensions of upstream's library: negative indexes count from the end,
 * `replace` adds a missing key of an object, and a test for null succeeds for a missing key. Does not change its
 * arguments.
 */
export function applyJsonPatch(target: JsonObject, patch: unknown): unknown {
  if (!Array.isArray(patch)) {
    throw malformed(`json: cannot unmarshal ${jsonKind(patch)} into Go value of type jsonpatch.Patch`);
  }
  if (patch.length > maxOperations) {
    const message = `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`;
    throw new PatchError("tooLarge", message);
  }
  const document: Document = { root: clone(target), copiedBytes: 0 };
  try {
    for (const operation of patch) applyOperation(document, operation);
  } catch (error) {
    // Move operations can nest a document too deeply for the recursion of a copy or test.
    throw error instanceof RangeError ? doesNotApply("exceeded max depth") : error;
  }
  assertDepth(document.root);
  return document.root;
}

function applyOperation(document: Document, operation: unknown): void {
  if (!isJsonObject(operation)) {
    throw malformed(
      `json: cannot unmarshal ${jsonKind(operation)} into Go value of type jsonpatch.Operation`,
    );
  }
  const value = Object.hasOwn(operation, "value") ? operation.value : null;
  switch (operation.op) {
    case "add":
      addPlace(findPlace(document.root, pointer(operation, "path")), clone(value));
      break;
    case "remove":
      removePlace(findPlace(document.root, pointer(operation, "path")));
      break;
    case "replace":
      replace(document, pointer(operation, "path"), value);
      break;
    case "move":
      move(document, operation);
      break;
    case "copy":
      copy(document, operation);
      break;
    case "test":
      test(document, pointer(operation, "path"), value);
      break;
    default:
      throw doesNotApply(`Unexpected kind: ${typeof operation.op === "string" ? operation.op : "unknown"}`);
  }
}

function replace(document: Document, path: string, value: unknown): void {
  // A missing key of an object may be replaced; a missing index or path may not.
  if (path !== "") setPlace(findPlace(document.root, path), clone(value));
  else if (typeof value === "object") document.root = clone(value);
  else throw doesNotApply("replace operation value must be object or array");
}

function move(document: Document, operation: JsonObject): void {
  const from = findPlace(document.root, pointer(operation, "from"));
  const value = readPlace(from) ?? null;
  removePlace(from);
  addPlace(findPlace(document.root, pointer(operation, "path")), value);
}

function copy(document: Document, operation: JsonObject): void {
  const source = readPlace(findPlace(document.root, pointer(operation, "from"))) ?? null;
  const text = JSON.stringify(source);
  document.copiedBytes += text.length;
  if (document.copiedBytes > maxCopiedBytes) {
    throw doesNotApply(
      `Unable to complete the copy, the accumulated size increase of copy is ${document.copiedBytes}, exceeding the limit ${maxCopiedBytes}`,
    );
  }
  addPlace(findPlace(document.root, pointer(operation, "path")), JSON.parse(text));
}

function test(document: Document, path: string, expected: unknown): void {
  const actual = path === "" ? document.root : (readPlace(findPlace(document.root, path)) ?? null);
  if (!isDeepStrictEqual(actual, expected)) throw doesNotApply(`testing value ${path} failed: test failed`);
}

function pointer(operation: JsonObject, name: "path" | "from"): string {
  const value = operation[name];
  if (typeof value !== "string") throw doesNotApply(`${operation.op} operation failed to decode ${name}`);
  return value;
}

/** Copies a value into the document, because later operations may change it. */
function clone(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value;
}

/** Target of a JSON pointer: the object or list that contains the value, and its key. */
interface Place {
  readonly container: JsonObject | unknown[];
  readonly key: string;
}

/** Resolves a JSON pointer. Throws if any step except the last is missing. */
function findPlace(root: unknown, pointer: string): Place {
  const [, ...steps] = pointer.split("/").map(unescapeStep);
  const key = steps.pop();
  let container = root;
  for (const step of steps) {
    container = isContainer(container) ? readPlace({ container, key: step }) : undefined;
  }
  if (key === undefined || !isContainer(container)) throw doesNotApply(`doc is missing path: ${pointer}`);
  return { container, key };
}

/** Returns the value at a place. Undefined for a missing key of an object; throws for a missing index. */
function readPlace({ container, key }: Place): unknown {
  if (Array.isArray(container)) return container[indexOf(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function setPlace({ container, key }: Place, value: unknown): void {
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value;
  else define(container, key, value);
}

/** Like `setPlace`, but inserts into a list. `-` appends. */
function addPlace({ container, key }: Place, value: unknown): void {
  if (!Array.isArray(container)) define(container, key, value);
  else if (key === "-") container.push(value);
  else container.splice(indexOf(key, container.length + 1), 0, value);
}

function removePlace({ container, key }: Place): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(key, container.length), 1);
    return;
  }
  if (!Object.hasOwn(container, key)) throw doesNotApply(`Unable to remove nonexistent key: ${key}`);
  delete container[key];
}

/** Parses an index. Negative indexes count from the end, like upstream. */
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
