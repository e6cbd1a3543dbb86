import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createCommonOperations } from "./common-operations.ts";
import { openStateDir } from "./container-files.ts";
import type { ContainerState } from "./driver.ts";
import { containerNotFound } from "./driver-error.ts";
import { createExitWatch } from "./exit-watch.ts";

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

it("waits on when the state cannot be told just now", async () => {
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
  ["says that it does not exist", async (): Promise<ContainerState> => ({ kind: "missing" })],
  ["tells what the driver refuses", () => Promise.reject(containerNotFound("one"))],
])("%s", async (_name, stateOf) => {
  const { driver, exits } = await setUp(stateOf);
  await expect(driver.wait("one", never)).rejects.toThrow("container one does not exist");
  exits.close();
});
