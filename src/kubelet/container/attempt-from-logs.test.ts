import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attemptAfter, attemptFromLogs } from "./attempt-from-logs.ts";
import { makePod } from "./make-pod.fixture.ts";

test.each([
  [[], 0],
  [["0.log"], 1],
  [["0.log", "10.log", "9.log"], 11],
  [["3.log.20240101-000000.gz", "2.log"], 4],
  [["x.log", "1.logs", "1.txt", "-1.log", "log"], 0],
])("after %j comes %i", (names, attempt) => {
  expect(attemptAfter(names)).toBe(attempt);
});

test("reads the container's own directory, which may not be there", async () => {
  const logsDirectory = await mkdtemp(join(tmpdir(), "logs-"));
  try {
    expect(await attemptFromLogs({ logsDirectory }, makePod(), "c")).toBe(0);
    await mkdir(join(logsDirectory, "shop_web_u-1/c"), { recursive: true });
    await writeFile(join(logsDirectory, "shop_web_u-1/c/4.log"), "");
    expect(await attemptFromLogs({ logsDirectory }, makePod(), "c")).toBe(5);
  } finally {
    await rm(logsDirectory, { recursive: true, force: true });
  }
});
