import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createManualClock, type ManualClock } from "../../../lib/manual-clock.ts";
import { type OutputPump, startOutputPump } from "./output-pumps.ts";

let dir: string;
let clock: ManualClock;
/** The pipes as the container's process has them. */
let outputs: number[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "kindling-pump-"));
  clock = createManualClock();
  const pipes = ["out", "err"].map((name) => join(dir, name));
  execFileSync("mkfifo", pipes);
  outputs = pipes.map((path) => openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
});
afterEach(() => {
  for (const fd of outputs) closeSync(fd);
  rmSync(dir, { recursive: true, force: true });
});

const say = (text: string) => writeSync(outputs[0] ?? -1, text);
const start = (logPath: string, onLoss = vi.fn()): Promise<OutputPump> =>
  startOutputPump({ dir, logPath, clock, onLoss });

it("keeps reading a container's output when the disk is full, and ends with the container", async () => {
  const onLoss = vi.fn();
  const pump = await start("/dev/full", onLoss);
  const { stdout } = pump.attach();
  for (const text of ["one", "two"]) {
    say(`${text}\n`);
    await expect.poll(() => String(stdout.read() ?? "")).toBe(`${text}\n`);
  }
  expect(onLoss).toHaveBeenCalledOnce();
  await pump.close();
});

it("waits once for a client that does not read, which then misses output until it reads", async () => {
  const path = join(dir, "0.log");
  const pump = await start(path);
  const { stdout } = pump.attach();
  const logged = () => readFileSync(path, "utf8");
  say(`${"x".repeat(60_000)}\n`);
  await expect.poll(() => clock.sleeping()).toBe(1);
  await clock.advance(5_000);
  for (const text of ["missed", "too"]) {
    say(`${text}\n`);
    await expect.poll(logged).toContain(` F ${text}\n`);
  }
  expect(clock.sleeping()).toBe(0);
  expect(String(stdout.read())).toBe(`${"x".repeat(60_000)}\n`);
  say("seen\n");
  await expect.poll(() => String(stdout.read() ?? "")).toBe("seen\n");
  await pump.close();
});
