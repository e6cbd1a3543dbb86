import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { openLmdbEnvironment } from "./lmdb-environment.ts";
import { encodeEntry } from "./lmdb-row.ts";
import { openLmdbStore } from "./lmdb-store.ts";

const folder = temporaryFolder();

beforeAll(async () => {
  const store = await openLmdbStore({ directory: join(folder, "sound") });
  await store.create("/pods/big", Buffer.alloc(10_000, "big;"));
  await store.create("/pods/small", Buffer.from("a small value"));
  await store.close();
});

describe("a data file that is not sound", () => {
  const cases: { name: string; spoil(file: string): unknown; code: string; message: RegExp }[] = [
    {
      name: "text",
      spoil: (file) => writeFileSync(file, "to do: buy milk\n".repeat(1_000)),
      code: "foreign",
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
      code: "foreign",
      message: /is an LMDB file, but not a Kindling store/,
    },
    {
      name: "a newer format",
      async spoil(file) {
        const environment = await openLmdbEnvironment(file);
        const row = encodeEntry({ key: "format", value: Buffer.from("kindling-store"), revision: 7 });
        await environment.write([{ table: "meta", key: "format", row }]);
        await environment.close();
      },
      code: "foreign",
      message: /has format 7, from a newer Kindling; this one knows formats up to 1/,
    },
    {
      name: "empty",
      spoil: (file) => truncateSync(file, 0),
      code: "corrupt",
      message: /damaged: it is empty/,
    },
    {
      name: "cut off in its first page",
      spoil: (file) => truncateSync(file, 1_000),
      code: "corrupt",
      message: /its meta pages/,
    },
    {
      name: "cut off further behind",
      spoil: (file) => truncateSync(file, 5 * 4_096),
      code: "corrupt",
      message: /it ends after 20480 bytes, before page \d+/,
    },
    {
      name: "a byte of a small value changed",
      spoil: (file) => replaceAll(file, "a small value", "a smell value"),
      code: "corrupt",
      message: /store\.mdb is damaged: the (event of revision 3|value of "\/pods\/small")/,
    },
    {
      name: "a byte of a key changed, in order still",
      spoil: (file) => replaceAll(file, "/pods/small", "/pods/smell"),
      code: "corrupt",
      message: /damaged/,
    },
    {
      name: "a byte of a big value changed",
      spoil: (file) => replaceAll(file, "big;big;big;", "big;bag;big;"),
      code: "corrupt",
      message: /the (event of revision 2|value of "\/pods\/big")/,
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
