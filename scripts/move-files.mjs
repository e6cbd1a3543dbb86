// Moves source files and rewrites every reference to them: relative imports in code, and paths such as
// `src/api/meta/names.ts` or `api/meta/names.ts` in docs, scripts and configuration.
// Usage: node scripts/move-files.mjs MOVES, where MOVES has one "old-path new-path" pair per line.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";

const [movesFile] = process.argv.slice(2);
if (!movesFile) {
  console.error(
    'usage: node scripts/move-files.mjs MOVES (a file with one "old-path new-path" pair per line)',
  );
  process.exit(2);
}

const moves = new Map(
  readFileSync(movesFile, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/\s+/)),
);
const git = (...args) => execFileSync("git", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
const tracked = git("ls-files").split("\n").filter(Boolean);
const known = new Set(tracked);
for (const [from, to] of moves) {
  if (!known.has(from)) throw new Error(`${from} is not a tracked file`);
  if (known.has(to) && !moves.has(to)) throw new Error(`${to} exists already`);
}

const isCode = (file) => /\.(ts|tsx|mts|mjs|js)$/.test(file);
const isText = (file) => isCode(file) || /\.(md|json|sh|ya?ml|html|proto)$/.test(file) || file === ".ci/run";
const moved = (file) => moves.get(file) ?? file;

let edited = 0;
for (const file of tracked.filter((name) => isText(name) && name !== "package-lock.json")) {
  const before = readFileSync(file, "utf8");
  const after = renamePaths(isCode(file) ? rewriteSpecifiers(before, file) : before);
  if (after === before) continue;
  writeFileSync(file, after);
  edited++;
}
for (const [from, to] of moves) {
  mkdirSync(dirname(to), { recursive: true });
  git("mv", from, to);
}
console.log(`${moves.size} files moved, ${edited} files edited`);

/** Rewrites relative module specifiers and `new URL(…)` paths so that they work from the file's new place. */
function rewriteSpecifiers(text, file) {
  return text.replace(/(["'`])(\.\.?\/[^"'`\n$]*)\1/g, (whole, quote, specifier) => {
    const target = normalize(join(dirname(file), specifier));
    if (!known.has(target)) return whole;
    const path = relative(dirname(moved(file)), moved(target));
    return `${quote}${path.startsWith(".") ? path : `./${path}`}${quote}`;
  });
}

/** Renames `src/…` paths, and the same paths without `src/` where docs name files below `src/`. */
function renamePaths(text) {
  return text.replace(
    /(?<![\w./-])(src\/)?([a-z][\w-]*(?:\/[\w.-]+)+\.ts)\b/g,
    (whole, prefix = "", path) => {
      const to = moves.get(`src/${path}`);
      return to === undefined ? whole : prefix + to.replace(/^src\//, "");
    },
  );
}
