import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { createUnpackPool, type UnpackPool } from "../../../src/runtime/snapshots/unpack-pool.ts";

/** Works for as many milliseconds as the blob's name says, answers `answers` times, and is slow to leave. */
const program = `
  const answer = (message) => process.send({ kind: "unpacked", id: message.id, result: {} });
  process.on("message", (message) => setTimeout(() => {
    for (let i = 0; i < Number(process.argv[1]); i++) answer(message);
  }, Number(message.request.blob)));
  process.on("disconnect", () => setTimeout(() => process.exit(0), 200));`;
const limits = { maxBytes: 1, maxEntries: 1 };
const { signal } = new AbortController();
let pool: UnpackPool;
afterEach(() => pool.close());

function start({
  answers,
  idleMs,
}: {
  answers: number;
  idleMs: number;
}): (workMs: number) => Promise<unknown> {
  const command = [process.execPath, "-e", program, String(answers)];
  pool = createUnpackPool({ command, idleMs });
  return (workMs) => pool.unpack({ blob: String(workMs), name: "layer", staging: "", limits }, signal);
}

test("work that arrives while the idle process exits is done by its successor", async () => {
  const unpack = start({ answers: 1, idleMs: 0 });
  await unpack(0);
  await delay(20);
  await expect(unpack(600)).resolves.toEqual({});
});

test("a duplicate response does not stop the process during the next work", async () => {
  const unpack = start({ answers: 2, idleMs: 300 });
  await unpack(0);
  await delay(100);
  await expect(unpack(600)).resolves.toEqual({});
});

test("without the program that confines the process the error names the package to install", async () => {
  pool = createUnpackPool({ command: ["unshare-that-is-missing", "--mount"] });
  await expect(pool.unpack({ blob: "", name: "layer", staging: "", limits }, signal)).rejects.toThrow(
    "the unpack process ended: unshare-that-is-missing is not installed: apt-get install util-linux",
  );
});
