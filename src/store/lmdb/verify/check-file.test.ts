import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/support/files/temporary-folder.ts";
import { openLmdbEnvironment } from "../environment.ts";
import { openLmdbStore } from "../lmdb-store.ts";
import { droppedMark, encodeEvent, encodeMark, type RowWrite } from "../tables.ts";

const folder = temporaryFolder();

beforeAll(async () => {
  const store = await openLmdbStore({ directory: join(folder, "sound") });
  await store.create("/pods/big", Buffer.alloc(10_000, "big;"));
  await store.create("/pods/small", Buffer.from("a small value"));
  await store.close();
});

describe("an invalid data file", () => {
  const cases: { name: string; spoil(file: string): unknown; code: string; message: RegExp }[] = [
    {
      name: "text",
      spoil: (file) => writeFileSync(file, "to do: buy milk\n".repeat(1_000)),
      code: "unrecognized",
      message: /is not an LMDB file, .* Nothing was changed; choose another directory/,
    },
    {
      name: "an LMDB file of another program",
      async spoil(file) {
        rmSync(file);
        const other = open({ path: file, overlappingSync: false });
        await other.put("greeting", "hello");
        await other.close();
      },
      code: "unrecognized",
      message: /is an LMDB file, but not a Kindling store/,
    },
    {
      name: "a newer format",
      spoil: (file) => write(file, [formatRow(7)]),
      code: "unrecognized",
      message: /has format 7, written by a newer version of Kindling; this version reads format 2/,
    },
    {
      name: "an older format",
      spoil: (file) => write(file, [formatRow(1)]),
      code: "unrecognized",
      message: /has format 1, written by an older version of Kindling; this version reads format 2/,
    },
    {
      name: "a value without its key",
      spoil: (file) => write(file, [{ table: "present", key: "/pods/small", row: undefined }]),
      code: "corrupt",
      message: /it has 1 keys, but values of 2/,
    },
    {
      name: "a key without its value",
      spoil: (file) => write(file, [{ table: "log", key: 3, row: undefined }]),
      code: "corrupt",
      message: /the event of revision 3, which wrote "\/pods\/small", is missing/,
    },
    {
      name: "a key with an older value",
      spoil: (file) => write(file, [updateOf("/pods/small", { revision: 4, from: 3 })]),
      code: "corrupt",
      message: /the event of revision 3, which wrote "\/pods\/small", is missing/,
    },
    {
      name: "an event whose previous value is missing",
      spoil: (file) => write(file, [updateOf("/pods/small", { revision: 4, from: 2 })]),
      code: "corrupt",
      message: /the value before revision 4 is missing/,
    },
    {
      name: "a missing event",
      spoil: (file) => write(file, [{ table: "log", key: 2, row: undefined }]),
      code: "corrupt",
      message: /the events between revisions 1 and 3 are missing/,
    },
    {
      name: "more dropped than compacted",
      spoil: (file) => write(file, [{ table: "meta", key: "dropped", row: encodeMark(droppedMark(3)) }]),
      code: "corrupt",
      message: /revisions up to 3 are dropped, although they are kept from 0 on/,
    },
    {
      name: "empty",
      spoil: (file) => truncateSync(file, 0),
      code: "corrupt",
      message: /damaged: it is empty/,
    },
    {
      name: "truncated in its first page",
      spoil: (file) => truncateSync(file, 1_000),
      code: "corrupt",
      message: /its meta pages/,
    },
    {
      name: "truncated in a later page",
      spoil: (file) => truncateSync(file, 5 * 4_096),
      code: "corrupt",
      message: /it ends after 20480 bytes, before page \d+/,
    },
    {
      name: "a changed byte in a small value",
      spoil: (file) => replaceAll(file, "a small value", "a smell value"),
      code: "corrupt",
      message: /store\.mdb is damaged: the event of revision 3/,
    },
    {
      name: "a changed byte in a key that keeps the order",
      spoil: (file) => replaceAll(file, "/pods/small", "/pods/smell"),
      code: "corrupt",
      message: /damaged/,
    },
    {
      name: "a changed byte in a large value",
      spoil: (file) => replaceAll(file, "big;big;big;", "big;bag;big;"),
      code: "corrupt",
      message: /the event of revision 2/,
    },
  ];
  test.each(cases)("$name", async ({ name, spoil, code, message }) => {
    const directory = join(folder, name);
    const file = join(directory, "store.mdb");
    mkdirSync(directory);
    copyFileSync(join(folder, "sound/store.mdb"), file);
    await spoil(file);
    const before = readFileSync(file);
    const refusal = await openLmdbStore({ directory }).catch((error) => error);
    expect(refusal).toMatchObject({ name: "StoreError", code, message: expect.stringMatching(message) });
    expect(refusal.message).toContain(directory);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

function replaceAll(file: string, from: string, to: string): void {
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) bytes.write(to, at);
  writeFileSync(file, bytes);
}

/** Writes rows into the file that the store would not write. */
async function write(file: string, rows: readonly RowWrite[]): Promise<void> {
  const environment = await openLmdbEnvironment(file);
  await environment.write(rows);
  await environment.close();
}

function formatRow(version: number): RowWrite {
  const row = encodeMark({ key: "format", note: Buffer.from("kindling-store"), revision: version });
  return { table: "meta", key: "format", row };
}

function updateOf(key: string, { revision, from }: { revision: number; from: number }): RowWrite {
  const value = Buffer.from("newer");
  const previous = { key, value, revision: from };
  const row = encodeEvent({ kind: "put", entry: { key, value, revision }, revision, previous });
  return { table: "log", key: revision, row };
}
