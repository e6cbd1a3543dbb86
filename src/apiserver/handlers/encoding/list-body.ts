import { type PiecewiseBody, inlineBytes as pieceBytes } from "../../request/api-request.ts";
import type { CachedObject } from "../../storage/cached-object.ts";

const comma = Buffer.from(",");
const listEnd = "]}\n";

/**
 * A list as JSON. Readers at the same position share the piece that is being sent to them. A piece is kept only while it is
 * being sent.
 */
export function createListBody(head: string, items: readonly CachedObject[]): PiecewiseBody {
  const starts = startsOfPieces(items);
  const shared: (WeakRef<Buffer> | undefined)[] = [];
  let byteLength = Buffer.byteLength(head) + Math.max(items.length - 1, 0) + listEnd.length;
  for (const { jsonBytes } of items) byteLength += jsonBytes;

  function piece(index: number): Buffer {
    const known = shared[index]?.deref();
    if (known) return known;
    const joined = joinItems(items, starts[index] ?? 0, starts[index + 1] ?? items.length);
    shared[index] = new WeakRef(joined);
    return joined;
  }

  return {
    byteLength,
    // A reference for each object.
    heldBytes: 8 * items.length,
    *pieces() {
      yield Buffer.from(head);
      for (const [index, start] of starts.entries()) {
        const item = items[start];
        if (!item || item.jsonBytes <= pieceBytes) yield piece(index);
        else {
          if (start > 0) yield comma;
          yield item.encoded();
        }
      }
      yield Buffer.from(listEnd);
    },
  };
}

/** Index of the first object of each piece. An object longer than `pieceBytes` is a separate piece. */
function startsOfPieces(items: readonly CachedObject[]): number[] {
  const starts: number[] = [];
  let room = 0;
  for (const [index, { jsonBytes }] of items.entries()) {
    room -= jsonBytes + 1;
    if (room < 0) {
      starts.push(index);
      // Nothing follows a long object in its piece.
      room = jsonBytes > pieceBytes ? 0 : pieceBytes - jsonBytes;
    }
  }
  return starts;
}

/** With a comma before each object but the first of the list. */
function joinItems(items: readonly CachedObject[], start: number, end: number): Buffer {
  let length = start === 0 ? end - 1 : end - start;
  for (let i = start; i < end; i++) length += items[i]?.jsonBytes ?? 0;
  const joined = Buffer.allocUnsafe(length);
  let at = 0;
  for (let i = start; i < end; i++) {
    const { json, jsonBytes } = items[i] as CachedObject;
    if (i > 0) at += joined.write(",", at, "latin1");
    // ASCII, which nearly all objects are, is copied as it is.
    at += joined.write(json, at, jsonBytes === json.length ? "latin1" : "utf8");
  }
  return joined;
}
