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
      add(document, operation, value);
      break;
    case "remove":
      remove(document, operation);
      break;
    case "replace":
      replace(document, operation, value);
      break;
    case "move":
      move(document, operation);
      break;
    case "copy":
      copy(document, operation);
      break;
    case "test":
      test(document, operation, value);
      break;
    default:
      throw doesNotApply(`Unexpected kind: ${typeof operation.op === "string" ? operation.op : "unknown"}`);
  }
}

const missing = "missing value";

function add({ root }: Document, operation: JsonObject, value: unknown): void {
  const path = pointer(operation, "path", missing);
  const place = findPlace(root, path);
  if (!place) throw doesNotApply(`add operation does not apply: doc is missing path: "${path}": ${missing}`);
  within(`error in add for path: '${path}'`, () => addPlace(place, clone(value)));
}

function remove({ root }: Document, operation: JsonObject): void {
  const path = pointer(operation, "path", missing);
  const place = findPlace(root, path);
  if (!place)
    throw doesNotApply(`remove operation does not apply: doc is missing path: "${path}": ${missing}`);
  within(`error in remove for path: '${path}'`, () => removePlace(place));
}

/** A missing key of an object may be replaced; a missing index or path may not. */
function replace(document: Document, operation: JsonObject, value: unknown): void {
  const path = pointer(operation, "path");
  if (path === "") {
    // Upstream's message formats a missing error.
    if (!isContainer(value))
      throw doesNotApply("replace operation value must be object or array: %!w(<nil>)");
    document.root = clone(value);
    return;
  }
  const fail = (what: string) =>
    doesNotApply(`replace operation does not apply: doc is missing ${what}: ${path}: ${missing}`);
  const place = findPlace(document.root, path);
  if (!place) throw fail("path");
  try {
    setPlace(place, clone(value));
  } catch {
    throw fail("key");
  }
}

function move({ root }: Document, operation: JsonObject): void {
  const from = pointer(operation, "from");
  const source = findPlace(root, from);
  if (!source)
    throw doesNotApply(`move operation does not apply: doc is missing from path: ${from}: ${missing}`);
  const value = within(`error in move for path: '${source.key}'`, () => {
    const found = readPlace(source) ?? null;
    removePlace(source);
    return found;
  });
  const path = pointer(operation, "path");
  const target = findPlace(root, path);
  if (!target)
    throw doesNotApply(`move operation does not apply: doc is missing destination path: ${path}: ${missing}`);
  within(`error in move for path: '${path}'`, () => addPlace(target, value));
}

function copy(document: Document, operation: JsonObject): void {
  const from = pointer(operation, "from");
  const source = findPlace(document.root, from);
  if (!source)
    throw doesNotApply(`copy operation does not apply: doc is missing from path: ${from}: ${missing}`);
  const value = within(`error in copy for from: '${from}'`, () => readPlace(source) ?? null);
  const path = pointer(operation, "path", missing);
  const target = findPlace(document.root, path);
  if (!target)
    throw doesNotApply(`copy operation does not apply: doc is missing destination path: ${path}: ${missing}`);
  const text = JSON.stringify(value);
  document.copiedBytes += text.length;
  if (document.copiedBytes > maxCopiedBytes) {
    throw doesNotApply(
      `Unable to complete the copy, the accumulated size increase of copy is ${document.copiedBytes}, exceeding the limit ${maxCopiedBytes}`,
    );
  }
  within("error while adding value during copy", () => addPlace(target, JSON.parse(text)));
}

function test({ root }: Document, operation: JsonObject, expected: unknown): void {
  const path = pointer(operation, "path");
  const place = path === "" ? undefined : findPlace(root, path);
  if (path !== "" && !place)
    throw doesNotApply(`test operation does not apply: is missing path: ${path}: ${missing}`);
  const actual = place ? within(`error in test for path: '${path}'`, () => readPlace(place) ?? null) : root;
  if (!isDeepStrictEqual(actual, expected)) throw doesNotApply(`testing value ${path} failed: test failed`);
}

/** Reads a JSON pointer of an operation. `reason` replaces the reason of the error, which upstream hides for some operations. */
function pointer(operation: JsonObject, name: "path" | "from", reason?: string): string {
  const value = operation[name];
  if (typeof value === "string") return value;
  const own =
    value === undefined || value === null
      ? `operation${name === "from" ? "," : ""} missing ${name} field: ${missing}`
      : `json: cannot unmarshal ${jsonKind(value)} into Go value of type string`;
  throw doesNotApply(`${operation.op} operation failed to decode ${name}: ${reason ?? own}`);
}

/** Runs a step and puts a text before its error. */
function within<T>(prefix: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof PatchError ? doesNotApply(`${prefix}: ${error.message}`) : error;
  }
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

/** Resolves a JSON pointer. Undefined if any step except the last is missing. */
function findPlace(root: unknown, pointer: string): Place | undefined {
  const [, ...steps] = pointer.split("/").map(unescapeStep);
  const key = steps.pop();
  let container = root;
  for (const step of steps) {
    if (Array.isArray(container)) {
      const index = parseIndex(step, container.length);
      container = typeof index === "number" ? container[index] : undefined;
    } else container = isJsonObject(container) ? readPlace({ container, key: step }) : undefined;
  }
  return key === undefined || !isContainer(container) ? undefined : { container, key };
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
  else {
    const prefix = `value was not a proper array index: '${key}': `;
    container.splice(indexOf(key, container.length + 1, prefix), 0, value);
  }
}

function removePlace({ container, key }: Place): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(key, container.length), 1);
    return;
  }
  if (!Object.hasOwn(container, key))
    throw doesNotApply(`Unable to remove nonexistent key: ${key}: ${missing}`);
  delete container[key];
}

/** Index of a list. `prefix` is put before the error of a key that is no number. */
function indexOf(key: string, length: number, prefix = ""): number {
  const index = parseIndex(key, length);
  if (typeof index === "number") return index;
  throw doesNotApply(index.isNumber ? index.error : prefix + index.error);
}

const maxInt64 = (1n << 63n) - 1n;

/** Parses an index. Negative indexes count from the end, like upstream. */
function parseIndex(
  key: string,
  length: number,
): number | { readonly error: string; readonly isNumber: boolean } {
  const syntax = (problem: string) => ({
    error: `strconv.Atoi: parsing ${JSON.stringify(key)}: ${problem}`,
    isNumber: false,
  });
  if (!/^[+-]?\d+$/.test(key)) return syntax("invalid syntax");
  const digits = key.replace(/^[+-]?0*/, "");
  if (digits.length > 19 || BigInt(digits || 0) > maxInt64) return syntax("value out of range");
  const index = Number(key);
  const fromStart = index < 0 ? index + length : index;
  if (fromStart >= 0 && fromStart < length) return fromStart;
  const shown = `${key.startsWith("-") && digits ? "-" : ""}${digits || 0}`;
  return { error: `Unable to access invalid index: ${shown}: invalid index referenced`, isNumber: true };
}

function isContainer(value: unknown): value is JsonObject | unknown[] {
  return Array.isArray(value) || isJsonObject(value);
}

function unescapeStep(step: string): string {
  return step.includes("~") ? step.replace(/~[01]/g, (escaped) => (escaped === "~1" ? "/" : "~")) : step;
}
