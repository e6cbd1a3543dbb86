import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { bundle } from "../support/programs/bundle.ts";

const directory = join(temporaryFolder(), "store");
let owner: ChildProcess | undefined;
afterAll(() => void owner?.kill("SIGKILL"));

test("rejects a directory that another process has open, until that process is killed", async () => {
  const writer = await bundle("test/store/lmdb-crash-writer.ts");
  owner = spawn(process.execPath, [writer, directory, "1"], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  owner.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  // It has the directory, and has written to it.
  await expect.poll(() => said).toContain('"answered"');

  const refused = {
    code: "inUse",
    message: expect.stringContaining(`by the process with pid ${owner.pid};`),
  };
  await expect(openLmdbStore({ directory })).rejects.toMatchObject(refused);
  // Also when it does not get to answer.
  owner.kill("SIGSTOP");
  await expect(openLmdbStore({ directory })).rejects.toMatchObject(refused);

  owner.kill("SIGKILL");
  await once(owner, "exit");
  const store = await openLmdbStore({ directory });
  expect(await store.currentRevision()).toBeGreaterThan(1);
  await store.close();
});
