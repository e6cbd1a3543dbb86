import { describe, expect, test } from "vitest";
import {
  createSpdyDecoder,
  type SpdyFrame,
  writeData,
  writeGoAway,
  writePing,
  writeReply,
  writeReset,
} from "./spdy-frames.ts";

const control = (type: number, payload: Buffer, flags = 0) =>
  Buffer.concat([Buffer.from([0x80, 3, 0, type, flags, 0, 0, payload.length]), payload]);
const id = (value: number) => Buffer.from([0, 0, 0, value]);
const syn = control(1, Buffer.concat([id(5), id(0), Buffer.from([0, 0]), Buffer.from("headers")]), 1);

test.each<[string, Buffer, SpdyFrame]>([
  ["SYN_STREAM", syn, { kind: "open", streamId: 5, fin: true, headers: Buffer.from("headers") }],
  ["RST_STREAM", writeReset(7, 3), { kind: "reset", streamId: 7 }],
  ["PING", writePing(9), { kind: "ping", id: 9 }],
  ["GOAWAY", writeGoAway(3), { kind: "goAway" }],
  ["SETTINGS", control(4, Buffer.alloc(12)), { kind: "ignored" }],
  ["WINDOW_UPDATE", control(9, Buffer.alloc(8)), { kind: "ignored" }],
  [
    "HEADERS",
    control(8, Buffer.concat([id(5), Buffer.from("h")])),
    { kind: "headers", streamId: 5, fin: false, headers: Buffer.from("h") },
  ],
  [
    "DATA",
    writeData(5, Buffer.from("x"), { fin: true }),
    { kind: "data", streamId: 5, fin: true, data: Buffer.from("x") },
  ],
  [
    "empty DATA",
    writeData(5, Buffer.alloc(0), { fin: true }),
    { kind: "data", streamId: 5, fin: true, data: Buffer.alloc(0) },
  ],
])("decodes %s, also byte by byte", (_, bytes, frame) => {
  expect(createSpdyDecoder().push(bytes)).toEqual([frame]);
  const decoder = createSpdyDecoder();
  expect([...bytes].flatMap((byte) => decoder.push(Buffer.of(byte)))).toEqual([frame]);
});

test("returns long data in parts as they arrive, with fin on the last", () => {
  const decoder = createSpdyDecoder();
  const bytes = writeData(3, Buffer.from("0123456789"), { fin: true });
  const fragments = [bytes.subarray(0, 12), Buffer.concat([bytes.subarray(12), writePing(1)])];
  expect(fragments.flatMap((piece) => decoder.push(piece))).toEqual([
    { kind: "data", streamId: 3, fin: false, data: Buffer.from("0123") },
    { kind: "data", streamId: 3, fin: true, data: Buffer.from("456789") },
    { kind: "ping", id: 1 },
  ]);
});

describe("rejects", () => {
  test.each([
    ["another version", Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0])],
    ["an endless control frame", Buffer.from([0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff])],
    ["an unknown type", control(5, Buffer.alloc(0))],
    ["a reply to nothing", writeReply(2, Buffer.alloc(0))],
    ["a short SYN_STREAM", control(1, id(1))],
    ["a short RST_STREAM", control(3, id(1))],
    ["a long PING", control(6, Buffer.alloc(8))],
    ["HTTP", Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])],
  ])("%s", (_, bytes) => {
    expect(() => createSpdyDecoder().push(bytes)).toThrow();
  });
});
