import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createCriTime, openLogFile } from "./log-file.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "kindling-log-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const line = (text: string) => Buffer.from(`${text}\n`);

it("continues in a new file after it was moved away", async () => {
  const path = join(dir, "0.log");
  const log = await openLogFile(path, () => {});
  await log.append(line("one"));
  renameSync(path, `${path}.1`);
  await Promise.all([log.append(line("two")), log.reopen(), log.append(line("three")), log.close()]);
  expect(readFileSync(`${path}.1`, "utf8")).toBe("one\ntwo\n");
  expect(readFileSync(path, "utf8")).toBe("three\n");
});

it("reports a full disk once and does not block", async () => {
  const onLoss = vi.fn();
  const log = await openLogFile("/dev/full", onLoss);
  for (const text of ["one", "two", "three"]) await log.append(line(text));
  await log.close();
  expect(onLoss.mock.calls).toEqual([[expect.objectContaining({ code: "ENOSPC" })]]);
});

it.runIf(process.getuid?.() === 0)("continues with a new line once there is space again", async () => {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=8k", "tmpfs", dir]);
  try {
    const onLoss = vi.fn();
    const path = join(dir, "0.log");
    const log = await openLogFile(path, onLoss);
    await log.append(line("x".repeat(10_000)));
    await log.append(line("lost too"));
    execFileSync("mount", ["-o", "remount,size=1m", dir]);
    await log.append(line("next"));
    await log.append(line("last"));
    await log.close();
    expect(readFileSync(path, "utf8")).toMatch(/^x+\nnext\nlast\n$/);
    expect(onLoss).toHaveBeenCalledOnce();
  } finally {
    execFileSync("umount", ["-l", dir]);
  }
});

it("adds nanoseconds to the wall clock and follows it when it is set", () => {
  let nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
  let nanos = 700n;
  const time = createCriTime({ nowMs: () => nowMs, monotonicNanos: () => nanos });
  expect(time()).toBe("2026-01-02T03:04:05.006000000Z");
  nanos += 42n;
  expect(time()).toBe("2026-01-02T03:04:05.006000042Z");
  nowMs += 3_600_000;
  expect(time()).toBe("2026-01-02T04:04:05.006000000Z");
});
