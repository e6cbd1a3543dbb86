import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { decideDirectory } from "./directory.ts";
import { openLmdbStore } from "./lmdb-store.ts";

describe("decideDirectory", () => {
  const cases: { name: string; names: string[]; decision?: string; error?: RegExp }[] = [
    { name: "empty", names: [], decision: "create" },
    { name: "the mount point of a new disk", names: ["lost+found"], decision: "create" },
    {
      name: "what a crash left that came before the first store",
      names: ["unfinished.mdb", "unfinished.mdb-lock", "owner-12-a1b2.sock"],
      decision: "create",
    },
    { name: "a store", names: ["store.mdb", "store.mdb-lock"], decision: "open" },
    { name: "a store and something else", names: ["store.mdb", "store.mdb.backup"], decision: "open" },
    {
      name: "a store that somebody took away",
      names: ["store.mdb-lock"],
      error:
        /^\/data\/store\.mdb is damaged: it is missing, .* Restore it from a backup, or move \/data away/,
    },
    { name: "etcd", names: ["member"], error: /^\/data has other files \(member\) and no Kindling store\./ },
    { name: "a home", names: ["c", "b", "a", "d"], error: /^\/data has other files \(a, b, c, …\)/ },
  ];
  test.each(cases)("$name", ({ names, decision, error }) => {
    const decide = () => decideDirectory("/data", names);
    if (error) expect(decide).toThrow(error);
    else expect(decide()).toBe(decision);
  });
});

describe("the directory of a store", () => {
  const folder = temporaryFolder();

  test("is made with all above it, for its owner alone", async () => {
    const directory = join(folder, "deep/down");
    await (await openLmdbStore({ directory })).close();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(directory))
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  test("of another program is left as it was", async () => {
    const directory = join(folder, "etcd");
    mkdirSync(join(directory, "member"), { recursive: true });
    await expect(openLmdbStore({ directory })).rejects.toMatchObject({ code: "foreign" });
    expect(readdirSync(directory)).toEqual(["member"]);
  });

  test("may have a name too long for a socket", async () => {
    const directory = join(folder, "long-name-".repeat(20));
    const store = await openLmdbStore({ directory });
    await expect(openLmdbStore({ directory })).rejects.toMatchObject({ code: "inUse" });
    await store.close();
  });

  test("with an unfinished store of an earlier crash gets a whole one", async () => {
    const directory = join(folder, "unfinished");
    mkdirSync(directory);
    writeFileSync(join(directory, "unfinished.mdb"), "half a store");
    const store = await openLmdbStore({ directory });
    expect(await store.currentRevision()).toBe(1);
    await store.close();
    expect(existsSync(join(directory, "unfinished.mdb"))).toBe(false);
  });

  test("that cannot be made is said to be so", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    await expect(openLmdbStore({ directory: join(file, "below") })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("ENOTDIR"),
    });
  });
});
