import { describe, expect, test } from "vitest";
import { decodeEntry, decodeEvent, encodeEntry, encodeEvent } from "./lmdb-row.ts";
import type { Entry, StoreEvent } from "./store.ts";

const older: Entry = { key: "/a", value: Buffer.from("old"), revision: 41 };
const newer: Entry = { key: "/a", value: Buffer.from("new value"), revision: 2 ** 40 };
const empty: Entry = { key: "/a", value: Buffer.alloc(0), revision: 42 };

describe("an entry", () => {
  test.each([older, newer, empty])("comes back as it was: $revision", (entry) => {
    expect(decodeEntry("/a", encodeEntry(entry))).toEqual(entry);
  });

  test("under another key is damaged", () => {
    expect(decodeEntry("/b", encodeEntry(older))).toBeUndefined();
  });

  test("with any one bit changed is damaged", () => {
    expectEveryBitToCount(encodeEntry(newer), (row) => decodeEntry("/a", row));
  });
});

describe("an event", () => {
  const events: StoreEvent[] = [
    { kind: "put", entry: newer, revision: newer.revision, previous: undefined },
    { kind: "put", entry: newer, revision: newer.revision, previous: older },
    { kind: "put", entry: empty, revision: empty.revision, previous: { ...empty, revision: 7 } },
    { kind: "delete", key: "/a", revision: 50, previous: empty },
  ];
  const encode = (event: StoreEvent) => encodeEvent(event, event.previous && encodeEntry(event.previous));

  test.each(events)("comes back as it was: $kind at $revision", (event) => {
    const { log, present } = encode(event);
    expect(decodeEvent(event.revision, log)).toEqual(event);
    expect(present && decodeEntry("/a", present)).toEqual(event.kind === "put" ? event.entry : undefined);
  });

  test.each(events)("with any one bit changed is damaged: $kind at $revision", (event) => {
    expectEveryBitToCount(encode(event).log, (row) => decodeEvent(event.revision, row));
  });

  test("at another revision, cut off or with more behind it is damaged", () => {
    const { log } = encode({ kind: "put", entry: newer, revision: newer.revision, previous: older });
    expect(decodeEvent(newer.revision + 1, log)).toBeUndefined();
    for (let length = 0; length < log.length; length++) {
      expect(decodeEvent(newer.revision, log.subarray(0, length))).toBeUndefined();
    }
    expect(decodeEvent(newer.revision, Buffer.concat([log, Buffer.alloc(1)]))).toBeUndefined();
  });
});

function expectEveryBitToCount(row: Buffer, decode: (row: Buffer) => unknown): void {
  for (let bit = 0; bit < 8 * row.length; bit++) {
    const changed = Buffer.from(row);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(decode(changed)).toBeUndefined();
  }
}
