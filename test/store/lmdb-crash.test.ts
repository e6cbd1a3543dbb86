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
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { bundle } from "../support/programs/bundle.ts";
import type { Report } from "./lmdb-crash-report.ts";
import { type Known, verifyAfterCrash } from "./lmdb-crash-verify.ts";

const folder = temporaryFolder();
const kills = rounds(10);
const killsWhileOpening = rounds(2);
let writer = "";

beforeAll(async () => {
  writer = await bundle("test/store/lmdb-crash-writer.ts");
});

test(`${kills} kills of a busy writer lose no acknowledged write and leave no write that was not requested`, async () => {
  const directory = join(folder, "busy");
  let before: Known = { entries: new Map(), revision: firstRevision };
  let answered = 0;
  for (let run = 0; run < kills; run++) {
    const reports = await runAndKill(directory, { run, afterReadyMs: Math.random() * 100 });
    answered += reports.filter((report) => report.kind === "answered").length;
    before = await verifyAfterCrash(directory, { before, reports });
  }
  console.log(`${kills} kills: ${answered} writes answered, revision ${before.revision}`);
  expect(answered).toBeGreaterThan(10 * kills);
}, 600_000);

test(`${killsWhileOpening} kills while a store is opened for the first time leave it usable`, async () => {
  for (let run = 0; run < killsWhileOpening; run++) {
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
