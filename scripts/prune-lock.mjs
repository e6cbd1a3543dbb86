// Run after `npm install` has changed package-lock.json: a registry need not have every platform's build of a package,
// npm then leaves those out of the lock file, and `npm ci` refuses a file that names what it does not have.
import { readFileSync, writeFileSync } from "node:fs";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const present = new Set(Object.keys(lock.packages).map((path) => path.split("node_modules/").at(-1)));
for (const entry of Object.values(lock.packages)) {
  const wanted = Object.entries(entry.optionalDependencies ?? {});
  const kept = wanted.filter(([name]) => present.has(name));
  if (kept.length === wanted.length) continue;
  if (kept.length > 0) entry.optionalDependencies = Object.fromEntries(kept);
  else delete entry.optionalDependencies;
}
writeFileSync("package-lock.json", `${JSON.stringify(lock, undefined, 2)}\n`);
