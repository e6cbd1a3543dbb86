import { isDeepStrictEqual } from "node:util";
import { assertDepth } from "../schema/assert-depth.ts";
import { jsonKind } from "../schema/decode-error.ts";
import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { addPlace, findPlace, readPlace, removePlace, setPlace } from "./json-pointer.ts";
import { doesNotApply, malformed, PatchError } from "./patch-error.ts";

const maxOperations = 10_000;
/** Of all copy operations together, so that a small patch cannot make a huge object. */
const maxCopiedBytes = 3 * 1024 * 1024;

interface Document {
  root: unknown;
  copiedBytes: number;
}

/**
 * RFC 6902, with what upstream's library adds: negative indexes count from the end, `replace` of a missing key of an
 * object adds it, a test for null passes on a missing key. Neither argument is changed.
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
    // Moves can nest a document deeper than a copy or a test can follow.
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
  // Neither a missing index nor a missing path may be replaced, but a missing key of an object may.
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

/** What goes into the document must be its own: a later operation may change it there. */
function clone(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value;
}
