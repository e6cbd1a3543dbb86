import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createExitWatch } from "./container-state.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "kindling-exits-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const never = new AbortController().signal;

it("checks at once when the container's exit file appears", async () => {
  const exits = createExitWatch(dir, { clock: createManualClock(), slowPollMs: 5_000 });
  const check = vi.fn(async () => (check.mock.calls.length > 1 ? "ended" : undefined));
  const ended = exits.until("one", check, never);
  await expect.poll(() => check.mock.calls.length).toBe(1);
  writeFileSync(join(dir, "another"), "0");
  writeFileSync(join(dir, "one"), "0");
  expect(await ended).toBe("ended");
  expect(check).toHaveBeenCalledTimes(2);
  exits.close();
});

it("polls when no watch is available", async () => {
  const clock = createManualClock();
  const exits = createExitWatch(join(dir, "missing"), { clock, slowPollMs: 5_000 });
  const check = vi.fn(async () => (check.mock.calls.length > 1 ? "ended" : undefined));
  const ended = exits.until("one", check, never);
  await expect.poll(() => clock.sleeping()).toBe(1);
  await clock.advance(5_000);
  expect(await ended).toBe("ended");
});

it("leaves no listeners on a long-lived signal", async () => {
  const stopping = new AbortController();
  const gathered = () =>
    Object.getOwnPropertySymbols(stopping.signal)
      .map((key) => Reflect.get(stopping.signal, key))
      .filter((value) => value instanceof Set || value instanceof Map)
      .reduce((sum, { size }) => sum + size, 0);
  const exits = createExitWatch(dir, { clock: systemClock, slowPollMs: 0 });
  let asked = 0;
  await exits.until("one", async () => (++asked > 50 ? "ended" : undefined), stopping.signal);
  expect(gathered()).toBeLessThan(5);
  exits.close();
});

it("rejects with the signal's reason", async () => {
  const clock = createManualClock();
  const stopping = new AbortController();
  const exits = createExitWatch(dir, { clock, slowPollMs: 5_000 });
  const ended = exits.until("one", async () => undefined, stopping.signal);
  await expect.poll(() => clock.sleeping()).toBe(1);
  stopping.abort(new Error("the runtime stops"));
  await expect(ended).rejects.toThrow("the runtime stops");
  expect(clock.sleeping()).toBe(0);
  exits.close();
});
