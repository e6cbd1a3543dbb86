import { once } from "node:events";
import { readdirSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { claimDirectory } from "./claim-directory.ts";

const directory = temporaryFolder();

test("allows one owner at a time", async () => {
  const claim = await claimDirectory(directory);
  await expect(claimDirectory(directory)).rejects.toMatchObject({
    code: "inUse",
    message: `${directory} is in use by this process (pid ${process.pid}); stop it first, or choose another directory`,
  });
  await claim.release();
  expect(readdirSync(directory)).toEqual([]);
  await (await claimDirectory(directory)).release();
});

test("at most one of many concurrent claims succeeds", async () => {
  for (let round = 0; round < 5; round++) {
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => claimDirectory(directory)));
    const claims = results.filter((result) => result.status === "fulfilled");
    expect(claims.length).toBeLessThanOrEqual(1);
    await Promise.all(claims.map((claim) => claim.value.release()));
  }
});

test("removes the socket of a killed owner, even if its pid was reused", async () => {
  const left = join(directory, `owner-${process.pid}-0a1b.sock`);
  await leaveDeadSocket(left);
  expect(readdirSync(directory)).toHaveLength(1);
  const claim = await claimDirectory(directory);
  expect(readdirSync(directory)).toHaveLength(1);
  await claim.release();
  expect(readdirSync(directory)).toEqual([]);
});

/** Creates a socket file without a listener, as after SIGKILL. */
async function leaveDeadSocket(path: string): Promise<void> {
  const server = createServer().listen(`${path}.alive`);
  await once(server, "listening");
  // Under the new name it is not removed when its server closes.
  renameSync(`${path}.alive`, path);
  await once(server.close(), "close");
}
