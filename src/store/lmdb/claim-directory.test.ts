import { once } from "node:events";
import { readdirSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { claimDirectory } from "./claim-directory.ts";

const directory = temporaryFolder();

test("a directory has one owner at a time", async () => {
  const claim = await claimDirectory(directory);
  await expect(claimDirectory(directory)).rejects.toMatchObject({
    code: "inUse",
    message: `${directory} is in use by this process (pid ${process.pid}); stop it first, or choose another directory`,
  });
  await claim.release();
  expect(readdirSync(directory)).toEqual([]);
  await (await claimDirectory(directory)).release();
});

test("of many who come at once at most one gets it", async () => {
  for (let round = 0; round < 5; round++) {
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => claimDirectory(directory)));
    const claims = results.filter((result) => result.status === "fulfilled");
    expect(claims.length).toBeLessThanOrEqual(1);
    await Promise.all(claims.map((claim) => claim.value.release()));
  }
});

test("what a killed owner left is removed, whoever has its pid now", async () => {
  const left = join(directory, `owner-${process.pid}-0a1b.sock`);
  await leaveDeadSocket(left);
  expect(readdirSync(directory)).toHaveLength(1);
  const claim = await claimDirectory(directory);
  expect(readdirSync(directory)).toHaveLength(1);
  await claim.release();
  expect(readdirSync(directory)).toEqual([]);
});

/** A socket file that nobody listens on, as SIGKILL leaves one. */
async function leaveDeadSocket(path: string): Promise<void> {
  const server = createServer().listen(`${path}.alive`);
  await once(server, "listening");
  // Under its new name it outlives the end of its server.
  renameSync(`${path}.alive`, path);
  await once(server.close(), "close");
}
