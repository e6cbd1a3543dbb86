import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { claimDataDir } from "./claim-data-dir.ts";

test("rejects a second claim until the first is released", async () => {
  const first = await claimDataDir(tmpdir());
  await expect(claimDataDir(tmpdir())).rejects.toThrow(/in use by another kindling runtime/);
  await first.release();
  const second = await claimDataDir(tmpdir());
  await second.release();
});

test("waits for a claim that is about to be released", async () => {
  const first = await claimDataDir(tmpdir());
  const second = claimDataDir(tmpdir());
  await first.release();
  await (await second).release();
});
