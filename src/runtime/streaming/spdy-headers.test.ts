import { constants, createDeflate, type Deflate } from "node:zlib";
import { expect, test } from "vitest";
import {
  createEmptyHeaderWriter,
  createSpdyHeaderReader,
  parseHeaderBlock,
  spdyDictionary,
  spdyDictionaryId,
} from "./spdy-headers.ts";

const number = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
};
const text = (value: string) => Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(value)]);
const block = (headers: Record<string, string>) =>
  Buffer.concat([
    number(Object.keys(headers).length),
    ...Object.entries(headers).flatMap((pair) => pair.map(text)),
  ]);

/** Compressor with one stream for all headers of a connection, like a client's. */
function compressor(): (bytes: Buffer) => Promise<Buffer> {
  const deflate: Deflate = createDeflate({ dictionary: spdyDictionary, level: 9 });
  return (bytes) =>
    new Promise((resolve) => {
      const chunks: Buffer[] = [];
      const collect = (chunk: Buffer) => chunks.push(chunk);
      deflate.on("data", collect);
      deflate.write(bytes);
      deflate.flush(constants.Z_SYNC_FLUSH, () => {
        deflate.off("data", collect);
        resolve(Buffer.concat(chunks));
      });
    });
}

test("reads headers of several frames from one compressed stream", async () => {
  const compress = compressor();
  const reader = createSpdyHeaderReader({ maxBlocks: 100 });
  for (const type of ["error", "stdin", "stdout"]) {
    const compressed = await compress(block({ streamtype: type, "Content-Type": "x" }));
    expect([...(await reader.read(compressed))]).toEqual([
      ["streamtype", type],
      ["content-type", "x"],
    ]);
  }
  reader.close();
});

test("has the dictionary of SPDY/3", async () => {
  const first = await compressor()(block({}));
  expect(first.readUInt16BE(0) & 0x20).toBe(0x20);
  expect(first.readUInt32BE(2)).toBe(spdyDictionaryId);
});

test("writes empty headers of replies as one compressed stream", async () => {
  const write = createEmptyHeaderWriter();
  const reader = createSpdyHeaderReader({ maxBlocks: 100 });
  for (let i = 0; i < 3; i++) expect((await reader.read(write())).size).toBe(0);
  reader.close();
});

test("rejects headers that inflate beyond the limit and uncompressed data", async () => {
  const bomb = createSpdyHeaderReader({ maxBlocks: 100 });
  const compressed = await compressor()(block({ a: "x".repeat(1_000_000) }));
  expect(compressed.length).toBeLessThan(10_000);
  await expect(bomb.read(compressed)).rejects.toThrow(/too long/);
  await expect(createSpdyHeaderReader({ maxBlocks: 100 }).read(Buffer.from("not zlib"))).rejects.toThrow();
});

test.each([
  ["a count without headers", number(3)],
  ["a length beyond the block", Buffer.concat([number(1), number(0xffffffff)])],
  ["nothing", Buffer.alloc(0)],
])("rejects %s", (_, bytes) => {
  expect(() => parseHeaderBlock(bytes)).toThrow();
});
