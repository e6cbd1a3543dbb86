// Hash of the contents of all sources of dist. If dist contains the same hash, it need not be built again.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const sources = [
  "dashboard",
  "package-lock.json",
  "package.json",
  "proto",
  "scripts",
  "src",
  "tsconfig.json",
  "tsconfig.types.json",
];

export function sourceHash(root = ".", names = sources) {
  const hash = createHash("sha256");
  for (const file of names.flatMap((name) => filesAt(root, name))) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function filesAt(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesAt(root, join(path, name)));
}
