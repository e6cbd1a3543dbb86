import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const variable = "KINDLING_TEST_PROGRAMS";

/** A folder for programs bundled from the current source, in which they find the packages they import. */
export function makeProgramsFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "kindling-programs-"));
  // Some are run as another user.
  chmodSync(path, 0o755);
  symlinkSync(resolve("node_modules"), join(path, "node_modules"));
  process.env[variable] = path;
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

const made = new Map<string, Promise<string>>();

/**
 * Bundles a program, unless another test file of the same run has done so: `make` puts it at the path it is given.
 * Two files that want the same one at the same time both make it, and neither sees half of it.
 */
export function makeOnce(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = made.get(name) ?? findOrMake(name, make);
  made.set(name, path);
  return path;
}

async function findOrMake(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(process.env[variable] ?? makeOwnFolder(), name);
  if (existsSync(path)) return path;
  const part = `${path}.${process.pid}`;
  await make(part);
  try {
    renameSync(part, path);
  } catch (error) {
    // A folder does not replace another that is in use.
    if (!existsSync(path)) throw error;
    rmSync(part, { recursive: true });
  }
  return path;
}

/** Outside of a test run: a benchmark. */
function makeOwnFolder(): string {
  const { path, remove } = makeProgramsFolder();
  process.once("exit", remove);
  return path;
}
