import { describe, expect, test } from "vitest";
import type { Entry, StoreEvent } from "../store.ts";
import { decodeEvent, decodeMark, encodeEvent, encodeMark, type Mark } from "./tables.ts";

const older: Entry = { key: "/a", value: Buffer.from("old"), revision: 41 };
const newer: Entry = { key: "/a", value: Buffer.from("new value"), revision: 2 ** 40 };
const empty: Entry = { key: "/a", value: Buffer.alloc(0), revision: 42 };

describe("a mark", () => {
  const plain: Mark = { key: "/a", note: Buffer.alloc(0), revision: 2 ** 40 };
  const noted: Mark = { key: "/a", note: Buffer.from("a note"), revision: 41 };

  test.each([plain, noted])("is decoded as encoded: $revision", (mark) => {
    expect(decodeMark("/a", encodeMark(mark))).toEqual(mark);
  });

  test("under another key is damaged", () => {
    expect(decodeMark("/b", encodeMark(plain))).toBeUndefined();
  });

  test("with any one bit changed is damaged", () => {
    expectEveryBitToCount(encodeMark(noted), (row) => decodeMark("/a", row));
  });
});

describe("an event", () => {
  const events: StoreEvent[] = [
    { kind: "put", entry: newer, revision: newer.revision, previous: undefined },
    { kind: "put", entry: newer, revision: newer.revision, previous: older },
    { kind: "put", entry: empty, revision: empty.revision, previous: { ...empty, revision: 7 } },
    { kind: "delete", key: "/a", revision: 50, previous: empty },
  ];

  test.each(events)("is decoded without the previous value: $kind at $revision", (event) => {
    expect(decodeEvent(event.revision, encodeEvent(event))).toEqual({
      key: "/a",
      revision: event.revision,
      previousRevision: event.previous?.revision ?? 0,
      entry: event.kind === "put" ? event.entry : undefined,
    });
  });

  test.each(events)("with any one bit changed is damaged: $kind at $revision", (event) => {
    expectEveryBitToCount(encodeEvent(event), (row) => decodeEvent(event.revision, row));
  });

  test("of another revision, truncated or with trailing bytes is damaged", () => {
    const row = encodeEvent({ kind: "put", entry: newer, revision: newer.revision, previous: older });
    expect(decodeEvent(newer.revision + 1, row)).toBeUndefined();
    for (let length = 0; length < row.length; length++) {
      expect(decodeEvent(newer.revision, row.subarray(0, length))).toBeUndefined();
    }
    expect(decodeEvent(newer.revision, Buffer.concat([row, Buffer.alloc(1)]))).toBeUndefined();
  });
});

function expectEveryBitToCount(row: Buffer, decode: (row: Buffer) => unknown): void {
  for (let bit = 0; bit < 8 * row.length; bit++) {
    const changed = Buffer.from(row);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(decode(changed)).toBeUndefined();
  }
}
