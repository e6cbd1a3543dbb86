import { readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";

/** Those that stay: a killed process leaves its cgroup a moment after it is gone. */
export async function removeCgroups(paths: readonly string[], clock: Clock): Promise<readonly string[]> {
  let left = paths;
  for (let attempt = 0; ; attempt++) {
    const gone = await Promise.all(left.map(removeTree));
    left = left.filter((_, i) => !gone[i]);
    if (left.length === 0 || attempt === 5) return left;
    await clock.sleep(20 * 2 ** attempt);
  }
}

/** The kernel removes a cgroup that has neither processes nor others in it. */
async function removeTree(path: string): Promise<boolean> {
  const code = await tryRemove(path);
  if (code === "ENOENT") return true;
  if (code === "EBUSY" || code === "ENOTEMPTY") {
    for (const name of await subdirectories(path)) await removeTree(join(path, name));
    return ["", "ENOENT"].includes(await tryRemove(path));
  }
  return code === "";
}

/** What kept it from going; empty when it went. */
async function tryRemove(path: string): Promise<string> {
  try {
    await rmdir(path);
    return "";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "EIO";
  }
}

export async function subdirectories(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
