import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createCommonOperations, signalNumber } from "./common-operations.ts";
import { openStateDir } from "./container-files.ts";
import { createExitWatch } from "./container-state.ts";
import { type ContainerState, containerNotFound } from "./driver.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "kindling-common-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function setUp(stateOf: () => Promise<ContainerState>) {
  const clock = createManualClock();
  const state = await openStateDir(dir);
  const exits = createExitWatch(state.exits, { clock, slowPollMs: 5_000 });
  const layout = { kind: "none", v1: {}, unified: undefined } as const;
  return { clock, exits, driver: createCommonOperations({ state, stateOf, exits, layout, clock }) };
}
const never = new AbortController().signal;

it("keeps waiting when the state cannot be read temporarily", async () => {
  const exited = { kind: "exited", exitCode: 3, startedAt: 0, finishedAt: 1, oomKilled: false } as const;
  const stateOf = vi
    .fn<() => Promise<ContainerState>>()
    .mockRejectedValueOnce(Object.assign(new Error("no space left"), { code: "ENOSPC" }))
    .mockResolvedValueOnce(exited);
  const { clock, driver, exits } = await setUp(stateOf);
  const waiting = driver.wait("one", never);
  await expect.poll(() => clock.sleeping()).toBe(1);
  await clock.advance(5_000);
  expect(await waiting).toEqual(exited);
  exits.close();
});

it.each([
  ["rejects for a missing container", async (): Promise<ContainerState> => ({ kind: "missing" })],
  ["passes on the driver's error", () => Promise.reject(containerNotFound("one"))],
])("%s", async (_name, stateOf) => {
  const { driver, exits } = await setUp(stateOf);
  await expect(driver.wait("one", never)).rejects.toThrow("container one does not exist");
  exits.close();
});

it.each([
  ["SIGTERM", 15],
  ["term", 15],
  ["9", 9],
  ["SIGRTMIN+3", 37],
  ["RTMAX-1", 63],
  ["SIGRTMIN", 34],
])("maps %s to %i", (name, number) => {
  expect(signalNumber(name)).toBe(number);
});

it.each(["", "NOPE", "0", "65", "-9", "SIGRTMIN+99"])("rejects %s", (name) => {
  expect(() => signalNumber(name)).toThrow(/not a signal/);
});
