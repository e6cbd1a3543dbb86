import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Creates a directory that is removed after the tests of the file. Its path contains no symbolic links. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "kindling-volume-")));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
