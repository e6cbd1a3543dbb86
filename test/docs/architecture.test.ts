import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const { default: layers } = (await import("../../.dependency-cruiser.mjs" as string)) as {
  default: { forbidden: readonly { name: string; comment?: string }[] };
};

/** Folders that a folder may import, according to the layer check. */
function allowedTo(folder: string): string[] {
  const rule = layers.forbidden.find(({ name }) => name === `layer-${folder}`);
  return [...(rule?.comment ?? "").matchAll(/, src\/([\w-]+)/g)].map(([, name = ""]) => name);
}

const foldersIn = (path: string) =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

/** Folder, what is in it, what it imports. */
const rows = readFileSync("docs/architecture.md", "utf8")
  .split("\n")
  .map((line) => line.split(" | ").map((cell) => cell.replaceAll("|", "").trim()))
  .filter(([folder = "", , imports]) => /^`[\w-]+`$/.test(folder) && imports !== undefined)
  .map(([folder = "", says = "", imports = ""]) => ({ folder: folder.slice(1, -1), says, imports }));

test("docs/architecture.md has a row for each folder of src/", () => {
  expect(rows.map(({ folder }) => folder).sort()).toEqual(foldersIn("src").sort());
});

describe.each(rows)("src/$folder", ({ folder, says, imports }) => {
  test("imports only the folders of its row", () => {
    // The command line may import every folder.
    if (imports === "anything") return expect(allowedTo(folder)).toEqual([]);
    const above = rows
      .slice(
        0,
        rows.findIndex((row) => row.folder === folder),
      )
      .map((row) => row.folder);
    const named = imports === "all of the above" ? above : imports.split(", ").filter(Boolean);
    expect(named.sort()).toEqual(allowedTo(folder).sort());
  });

  // Each controller has a folder of its name.
  if (folder === "controllers") return;
  test("names its sub-folders", () => {
    expect(foldersIn(`src/${folder}`).filter((name) => !says.includes(`\`${name}/`))).toEqual([]);
  });
});
