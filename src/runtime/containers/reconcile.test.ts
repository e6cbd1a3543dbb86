import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PodSandboxConfig } from "../../cri/generated/cri.ts";
import { createLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { Driver } from "../drivers/driver.ts";
import type { Images } from "../images/images.ts";
import type { Network } from "../networks/network.ts";
import { openRuntimeState } from "../state/runtime-state.ts";
import { reconcile, reconciledState } from "./reconcile.ts";

const exit = { kind: "exited", exitCode: 3, startedAt: 10, finishedAt: 20, oomKilled: false } as const;
const ended = {
  kind: "exited",
  exitCode: 3,
  startedAt: 10,
  finishedAt: 20,
  reason: "Error",
  message: "",
} as const;
const running = { kind: "running", startedAt: 10 } as const;

test.each([
  ["exited while the daemon was down", running, exit, ended],
  ["killed for lack of memory", running, { ...exit, oomKilled: true }, { ...ended, reason: "OOMKilled" }],
  ["completed", running, { ...exit, exitCode: 0 }, { ...ended, exitCode: 0, reason: "Completed" }],
  ["still running", running, { kind: "running", pid: 5, startedAt: 10 }, running],
  [
    "started just before the daemon ended",
    { kind: "created" },
    { kind: "running", pid: 5, startedAt: 10 },
    running,
  ],
  ["still created", { kind: "created" }, { kind: "created" }, { kind: "created" }],
  ["exit already recorded", ended, { kind: "missing" }, ended],
] as const)("%s", (_name, recorded, actual, expected) => {
  expect(reconciledState(recorded, actual, 99)).toEqual(expected);
});

test("records a missing container as exited with reason Unknown", () => {
  expect(reconciledState(running, { kind: "missing" }, 99)).toMatchObject({
    kind: "exited",
    exitCode: 255,
    startedAt: 10,
    finishedAt: 99,
    reason: "Unknown",
  });
});

/** Opens the state of a runtime that has no containers, with these root file systems. */
async function openState({ rootfsOwners = [] }: { rootfsOwners?: readonly string[] }) {
  const dataDir = await mkdtemp(join(tmpdir(), "kindling-reconcile-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const released: string[] = [];
  const log: string[] = [];
  const driver: Pick<Driver, "list" | "remove"> = {
    list: async () => [],
    async remove(id) {
      if (id === "stuck") throw new Error("it is busy");
    },
  };
  const network: Pick<Network, "list" | "detach"> = {
    list: async () => [],
    detach: async (id) => void released.push(id),
  };
  const images: Pick<Images, "rootfsOwners" | "removeRootfs"> = {
    rootfsOwners: () => rootfsOwners,
    removeRootfs: async (id) => void released.push(id),
  };
  const state = await openRuntimeState({
    dataDir,
    driver: driver as Driver,
    network: network as Network,
    images: images as Images,
    handlers: [],
    clock: createManualClock(),
    logger: createLogger({
      format: "json",
      level: "error",
      destination: { write: (line) => log.push(line) },
    }),
    stopping: new AbortController().signal,
  });
  return { state, released, log };
}

test("removes root file systems of containers without a record, also after one that cannot be removed", async () => {
  const { state, released, log } = await openState({ rootfsOwners: ["stuck", "abandoned"] });
  await reconcile(state);
  expect(released).toEqual(["abandoned"]);
  expect(log.join()).toMatch(/stuck.*it is busy/);
});

test("releases the other sandboxes and starts when one cannot be released", async () => {
  const { state, released, log } = await openState({});
  for (const id of ["stuck", "other"]) {
    const config = PodSandboxConfig.fromPartial({});
    await state.sandboxes.put({ id, config, runtimeHandler: "", createdAt: 0, state: { kind: "notReady" } });
  }
  await reconcile(state);
  expect(released).toEqual(["other"]);
  expect(log.join()).toMatch(/stuck.*it is busy/);
  expect(state.sandboxes.list()).toHaveLength(2);
});
