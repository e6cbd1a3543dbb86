import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

/** Files in git, and new files that are not ignored. */
const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
  encoding: "utf8",
  maxBuffer: 1 << 26,
})
  .split("\0")
  .filter((file) => file !== "" && existsSync(file));
/** The changelog names files that no longer exist. */
const documents = files.filter((file) => file.endsWith(".md") && file !== "CHANGELOG.md");

/** `src/a/b.ts`, `b.ts`, `a/b.ts#name`: a file, by its path or the end of it, and something that it declares. */
const fileName = /^([\w./-]+\.(?:ts|tsx|mjs|sh|proto|yml|yaml))(?:#(\w+))?$/;
const folderName = /^(?:src|test|bench|docs|examples|scripts|proto|dashboard)\/[\w./-]+$/;
/** Example of the notation of docs/pod-startup.md. */
const notation = "file.ts#name";

function isThere(name: string): boolean {
  const [, path, declared] = fileName.exec(name) ?? [];
  if (path === undefined) return !folderName.test(name) || existsSync(name);
  const found = files.filter((file) => file === path || file.endsWith(`/${path}`));
  if (declared === undefined) return found.length > 0;
  const declaration = new RegExp(`function\\*? ${declared}\\b|\\b${declared}(?:\\(|:| =)`);
  return found.some((file) => declaration.test(readFileSync(file, "utf8")));
}

/** Anchors of headings, as GitHub generates them. */
function anchors(document: string): string[] {
  return [...readFileSync(document, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path, anchor] = link.split("#");
  const target = path ? join(dirname(document), path) : document;
  return existsSync(target) && (anchor === undefined || anchors(target).includes(anchor));
}

describe.each(documents)("%s", (document) => {
  const text = readFileSync(document, "utf8");

  test("names existing files, folders and functions", () => {
    const quoted = [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);
    const bare = text.match(/\b(?:src|test)\/[\w./-]+\.ts\b/g) ?? [];
    const missing = [...quoted, ...bare].filter((name) => name !== notation && !isThere(name));
    expect(missing).toEqual([]);
  });

  test("links to existing files", () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(document, link))).toEqual([]);
  });
});
