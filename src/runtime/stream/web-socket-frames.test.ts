import { expect, test } from "vitest";
import { opcodes, readFrame, writeFrame } from "./web-socket-frames.ts";

/** As a client would send it. */
function masked(frame: Buffer): Buffer {
  const headerSize = (frame[1] ?? 0) === 127 ? 10 : (frame[1] ?? 0) === 126 ? 4 : 2;
  const header = Buffer.from(frame.subarray(0, headerSize));
  header[1] = (header[1] ?? 0) | 0x80;
  const mask = Buffer.from([1, 2, 3, 4]);
  const payload = Buffer.from(frame.subarray(headerSize));
  for (let i = 0; i < payload.length; i++) payload[i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return Buffer.concat([header, mask, payload]);
}

test.each([0, 1, 125, 126, 65_535, 65_536])("%i bytes go there and back", (length) => {
  const payload = Buffer.alloc(length, 7);
  const bytes = masked(writeFrame(opcodes.binary, payload));
  const read = readFrame(Buffer.concat([bytes, Buffer.from("next")]));
  expect(read?.size).toBe(bytes.length);
  expect(read?.frame).toEqual({ final: true, opcode: opcodes.binary, payload });
});

test("an incomplete frame is waited for", () => {
  const bytes = masked(writeFrame(opcodes.binary, Buffer.alloc(300)));
  for (const size of [0, 1, 2, 5, 100, bytes.length - 1])
    expect(readFrame(bytes.subarray(0, size))).toBeUndefined();
});

test("frames without a mask and endless ones are refused", () => {
  expect(() => readFrame(writeFrame(opcodes.binary, Buffer.from("x")))).toThrow(/masked/);
  const endless = Buffer.from([0x82, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]);
  expect(() => readFrame(endless)).toThrow(/too long/);
});
