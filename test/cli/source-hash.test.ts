import { execFile } from "node:child_process";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const folder = temporaryFolder();

async function hash(): Promise<string> {
  const module = JSON.stringify(pathToFileURL(resolve("scripts/source-hash.mjs")).href);
  const script = `const { sourceHash } = await import(${module}); console.log(sourceHash(${JSON.stringify(folder)}, ["a", "src"]))`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  return stdout;
}

test("the hash of a build depends on the contents and names of its sources", async () => {
  await mkdir(join(folder, "src/deep"), { recursive: true });
  await writeFile(join(folder, "a"), "1");
  await writeFile(join(folder, "src/deep/b"), "2");
  const first = await hash();
  await writeFile(join(folder, "src/deep/b"), "2");
  expect(await hash()).toBe(first);
  await writeFile(join(folder, "src/deep/b"), "3");
  const changed = await hash();
  expect(changed).not.toBe(first);
  await rename(join(folder, "src/deep/b"), join(folder, "src/deep/c"));
  expect(await hash()).not.toBe(changed);
});
