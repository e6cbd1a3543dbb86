// Run after `npm install` has changed package-lock.json. If the registry lacks the build of a package for some
// platforms, npm omits them from the lock file, and `npm ci` then rejects the references to them.
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
