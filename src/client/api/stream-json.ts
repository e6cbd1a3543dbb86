import { TransportError } from "../transport/transport.ts";

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;

/** Items of a list, and the list without them: `{ kind, apiVersion, metadata, items: [] }`. */
interface ListParts {
  readonly envelope: unknown;
  readonly items: readonly unknown[];
}

/**
 * Parses the JSON of a list item by item. A list of all pods can exceed the maximum string length, and parsing it at
 * once would block the event loop for seconds.
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

/** Splits the bytes of a list by tracking brackets. Depth 1 is the list, 2 its `items`, 3 an item. */
function createSplitter(sink: SplitterSink): (chunk: Uint8Array) => void {
  let depth = 0;
  let inItems = false;
  let inString = false;
  let escaped = false;
  /** Last string at depth 1: the key of the value that follows. */
  let key = "";

  return (chunk) => {
    /** Start of the bytes of the current part. */
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
      // Square and curly brackets differ only in bit 0x20.
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
    // Only commas and whitespace occur between items.
    else if (depth > 2) sink.item(chunk.subarray(start), "more");
  };
}

function parseParts(parts: readonly Uint8Array[]): unknown {
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch (error) {
    throw new TransportError("the server's response is not JSON", { cause: error });
  }
}

/** Far above the maximum object size of API servers. */
const maxLineBytes = 64 * 1_024 * 1_024;
const newline = 0x0a;

/** Parses newline-delimited JSON, yielding each value when its line is complete. */
export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  // Works on bytes, because a chunk may end inside a multi-byte character.
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = Buffer.concat([...begun, chunk.subarray(start, end)]).toString();
      begun = [];
      begunBytes = 0;
      start = end + 1;
      if (line.trim()) yield parseLine(line);
    }
    if (start === chunk.length) continue;
    begun.push(chunk.subarray(start));
    begunBytes += chunk.length - start;
    if (begunBytes > maxLineBytes)
      throw new TransportError("the server sent a watch event larger than 64 MiB");
  }
  if (begunBytes > 0) throw new TransportError("the server's response ended in the middle of a watch event");
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new TransportError("the server sent a watch event that is not JSON", { cause: error });
  }
}
