import { TransportError } from "./transport.ts";

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;

/** A list's items, and the list without them: `{ kind, apiVersion, metadata, items: [] }`. */
interface ListParts {
  readonly envelope: unknown;
  readonly items: readonly unknown[];
}

/**
 * Reads a list's JSON item by item. The list of all pods can be longer than the longest string, and parsing it in one
 * go would hold up everything else for seconds; this way neither its text nor its parsing is ever there as a whole.
 */
export async function readList(chunks: AsyncIterable<Uint8Array>): Promise<ListParts> {
  const items: unknown[] = [];
  const envelope: Uint8Array[] = [];
  let item: Uint8Array[] = [];
  const split = createSplitter({
    envelope: (bytes) => void envelope.push(bytes),
    item(bytes, part) {
      item.push(bytes);
      if (part === "more") return;
      items.push(parseParts(item));
      item = [];
    },
  });
  for await (const chunk of chunks) split(chunk);
  return { envelope: parseParts(envelope), items };
}

interface SplitterSink {
  envelope(bytes: Uint8Array): void;
  item(bytes: Uint8Array, part: "more" | "last"): void;
}

/** Sorts the bytes of a list by following its brackets. Depth 1 is the list, 2 its `items`, 3 an item. */
function createSplitter(sink: SplitterSink): (chunk: Uint8Array) => void {
  let depth = 0;
  let inItems = false;
  let inString = false;
  let escaped = false;
  /** The last string at depth 1: in front of a value, its key. */
  let key = "";

  return (chunk) => {
    /** Of the bytes that belong to whatever is read at the moment. */
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
        if (depth === 1 && inString) key += String.fromCharCode(byte);
        continue;
      }
      if (byte === quote) {
        inString = true;
        if (depth === 1) key = "";
        continue;
      }
      // Square and curly brackets differ in this bit only.
      const bracket = byte | 0x20;
      if (bracket === 0x7b) {
        depth++;
        if (depth === 2 && byte === openBracket && key === "items") {
          inItems = true;
          sink.envelope(chunk.subarray(start, at + 1));
        } else if (inItems && depth === 3) start = at;
      } else if (bracket === 0x7d) {
        depth--;
        if (inItems && depth === 2) sink.item(chunk.subarray(start, at + 1), "last");
        else if (inItems && depth === 1) {
          inItems = false;
          start = at;
        }
      }
    }
    if (!inItems) sink.envelope(chunk.subarray(start));
    // Between two items there is nothing but a comma.
    else if (depth > 2) sink.item(chunk.subarray(start), "more");
  };
}

function parseParts(parts: readonly Uint8Array[]): unknown {
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch (error) {
    throw new TransportError("the server's answer is not JSON", { cause: error });
  }
}
