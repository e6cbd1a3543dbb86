import { TransportError } from "./transport.ts";

/** No object that a server stores comes near this. */
const maxLineBytes = 64 * 1_024 * 1_024;
const newline = 0x0a;

/** Each line's JSON as soon as the line is whole, however the chunks are cut. */
export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  // Bytes and not text: a chunk may end inside a character, but never a character inside a newline.
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
    if (begunBytes > maxLineBytes) throw new TransportError("the server sent an event that never ends");
  }
  if (begunBytes > 0) throw new TransportError("the server's answer ended in the middle of an event");
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new TransportError("the server sent an event that is not JSON", { cause: error });
  }
}
