import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { firstRevision } from "../../src/store/store.ts";
import { bundle } from "../support/bundle.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { Report } from "./lmdb-crash-report.ts";
import { type Known, verifyAfterCrash } from "./lmdb-crash-verify.ts";

const folder = temporaryFolder();
let writer = "";

beforeAll(async () => {
  writer = await bundle("test/store/lmdb-crash-writer.ts");
});

test("100 kills of a busy writer lose nothing that was answered and leave nothing that was not asked for", async () => {
  const directory = join(folder, "busy");
  let before: Known = { entries: new Map(), revision: firstRevision };
  let answered = 0;
  for (let run = 0; run < 100; run++) {
    const reports = await runAndKill(directory, { run, afterReadyMs: Math.random() * 100 });
    answered += reports.filter((report) => report.kind === "answered").length;
    before = await verifyAfterCrash(directory, { before, reports });
  }
  console.log(`100 kills: ${answered} writes answered, revision ${before.revision}`);
  expect(answered).toBeGreaterThan(1_000);
}, 600_000);

test("20 kills while a store is opened for the first time leave it usable", async () => {
  for (let run = 0; run < 20; run++) {
    const directory = join(folder, `new-${run}`);
    await runAndKill(directory, { run, afterStartMs: 30 + Math.random() * 120 });
    if (!existsSync(directory)) continue;
    const store = await openLmdbStore({ directory });
    await expect(store.create("/after", Buffer.from("x"))).resolves.toMatchObject({ kind: "created" });
    await store.close();
  }
});

function countAnswers(output: Readable): () => number {
  let count = 0;
  output.on("data", (chunk: Buffer) => {
    count += chunk.toString().split('"answered"').length - 1;
  });
  return () => count;
}

type Moment = { afterReadyMs: number } | { afterStartMs: number };

/** Everything the writer said before it was killed. */
async function runAndKill(
  directory: string,
  { run, ...moment }: Moment & { run: number },
): Promise<Report[]> {
  const child = spawn(process.execPath, [writer, directory, `${run}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = text(child.stdout);
  if ("afterReadyMs" in moment) {
    const answered = countAnswers(child.stdout);
    await once(child.stdout, "data");
    await delay(moment.afterReadyMs);
    // So many, however little a busy machine gets done in that time.
    await expect.poll(answered, { interval: 1 }).toBeGreaterThan(20);
  } else {
    await delay(moment.afterStartMs);
  }
  child.kill("SIGKILL");
  const [[, signal], output] = await Promise.all([once(child, "exit"), said]);
  expect(signal).toBe("SIGKILL");
  // The last line may be cut off.
  const lines = output.slice(0, output.lastIndexOf("\n") + 1).split("\n");
  return lines.filter(Boolean).map((line) => JSON.parse(line));
}
