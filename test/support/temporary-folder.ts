import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A folder that is removed after the tests of the file. In memory where that is possible: no test is about the disk. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "kindling-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
