import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const { path, remove } = makeTemporaryFolder();
  afterAll(remove);
  return path;
}

/** In memory where that is possible: no test is about the disk. */
export function makeTemporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "kindling-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
