import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** For tests: a directory that is removed after the tests of the file. Its path has no links in it. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "kindling-volume-")));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
