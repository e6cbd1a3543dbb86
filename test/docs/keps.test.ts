import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";

/** Number of clauses of each proposal. */
const clauses = { 3085: 16, 3815: 10, 3542: 14, 950: 9, 3541: 13 } as const;
const ids = Object.entries(clauses).flatMap(([kep, count]) =>
  Array.from({ length: count }, (_, i) => `${kep}-${i + 1}`),
);

const document = await readFile("docs/keps.md", "utf8");
const rows = new Map(
  document
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .filter(([, id = ""]) => /^\d+-\d+$/.test(id))
    .map(([, id = "", says = "", shownBy = "", doneIn = ""]) => [id, { says, shownBy, doneIn }]),
);
const pathsIn = (cell: string) => [...cell.matchAll(/`([^`]+\/[^`]+)`/g)].map(([, path = ""]) => path);

test("every clause has exactly one row", () => {
  expect([...rows.keys()].sort()).toEqual([...ids].sort());
  expect(document.match(/^\| \d+-\d+ \|/gm)).toHaveLength(ids.length);
});

describe.each(ids)("%s", (id) => {
  const { says = "", shownBy = "", doneIn = "" } = rows.get(id) ?? {};

  test("has a description and names existing code", () => {
    expect(says).not.toBe("");
    expect(pathsIn(doneIn)).not.toEqual([]);
    expect(pathsIn(doneIn).filter((path) => !existsSync(path))).toEqual([]);
  });

  test("names tests that carry its id", async () => {
    const paths = pathsIn(shownBy);
    expect(paths).not.toEqual([]);
    for (const path of paths) {
      expect(path).toMatch(/\.test\.ts$/);
      expect(await readFile(path, "utf8"), path).toMatch(new RegExp(`["'\`: ]${id}(?!\\d)`));
    }
  });
});
