import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { discardContainer } from "./container/make-container.ts";
import { exitedState, watchExit } from "./container/watch-exit.ts";
import type { ContainerState } from "./driver/driver.ts";
import { endLeftoverProcesses } from "./network/end-leftover-processes.ts";
import { isPinned } from "./network/pin-namespaces.ts";
import { releaseAbandoned } from "./network/release-abandoned.ts";
import { discardSandbox, releaseSandbox } from "./sandbox/release-sandbox.ts";
import { watchPause } from "./sandbox/watch-pause.ts";
import type { ContainerRecord, ContainerRecordState } from "./state/container-record.ts";
import type { RuntimeState } from "./state/runtime-state.ts";
import type { SandboxRecord } from "./state/sandbox-record.ts";

/**
 * After a start: what an earlier daemon left half made or half removed is removed, and records catch up with what
 * happened while nobody watched. Runs before the first call is served.
 */
export async function reconcile(state: RuntimeState): Promise<void> {
  const { sandboxes, containers } = state;
  for (const container of containers.list()) {
    if (container.state.kind === "making" || !sandboxes.get(container.sandboxId))
      await forget(state, "container", container.id);
  }
  for (const sandbox of sandboxes.list()) {
    if (sandbox.state.kind === "making") await forget(state, "sandbox", sandbox.id);
  }
  await Promise.all(
    containers.list().map((container) => keepStarting(state, container.id, catchUp(state, container))),
  );
  await Promise.all(
    sandboxes.list().map((sandbox) => keepStarting(state, sandbox.id, checkSandbox(state, sandbox))),
  );
  await discardUnknown(state);
}

/** One that cannot be put in order keeps the daemon from serving none of the others; whoever removes it tries again. */
async function keepStarting({ logger }: RuntimeState, id: string, work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => logger.error("cannot put in order what was left", { id, error }));
}

/** Exported for its test: what a record becomes in the light of what the driver knows. */
export function reconciledState(
  recorded: ContainerRecordState,
  actual: ContainerState,
  now: number,
): ContainerRecordState {
  if (recorded.kind === "exited") return recorded;
  switch (actual.kind) {
    case "exited":
      return exitedState(actual);
    case "running":
      return { kind: "running", startedAt: actual.startedAt };
    case "created":
      return { kind: "created" };
    case "missing":
      // The machine restarted, or somebody removed it behind our back.
      return {
        kind: "exited",
        exitCode: 255,
        startedAt: recorded.kind === "running" ? recorded.startedAt : 0,
        finishedAt: now,
        reason: "Unknown",
        message: "the container was gone when the runtime came back",
      };
  }
}

async function catchUp(state: RuntimeState, container: ContainerRecord): Promise<void> {
  const actual = await state.driver.state(container.id);
  const next = reconciledState(container.state, actual, state.clock.now());
  if (next.kind !== container.state.kind) await state.containers.put({ ...container, state: next });
  if (next.kind === "running") watchExit(state, container.id);
}

/** A sandbox is ready only with everything its containers share; else it is released and kubelets make a new one. */
async function checkSandbox(state: RuntimeState, sandbox: SandboxRecord): Promise<void> {
  const { id } = sandbox;
  if (sandbox.state.kind !== "ready") {
    // The daemon may have ended in the middle of stopping it, and what it ran for that may still be at work.
    await endLeftoverProcesses(id);
    await releaseSandbox(state, id);
    return;
  }
  const { network, ipc, uts, pid } = sandbox.state.namespaces;
  const pins = [network, ipc, uts].filter((path) => path !== "host");
  const pinned = (await Promise.all(pins.map(isPinned))).every(Boolean);
  const paused = pid !== "pause" || (await state.driver.state(id)).kind === "running";
  if (pinned && paused) {
    watchPause(state, id);
    return;
  }
  state.logger.warn("a sandbox lost its namespaces", { sandbox: id });
  await state.sandboxes.put({ ...sandbox, state: { kind: "notReady" } });
  await releaseSandbox(state, id);
}

/** What drivers, networks and directories hold for nobody: the record went first, or never came. */
async function discardUnknown(state: RuntimeState): Promise<void> {
  const { dataDir, driver, network, sandboxes, containers, logger } = state;
  const known = new Set([...sandboxes.list(), ...containers.list()].map(({ id }) => id));
  const strays = new Set([...(await driver.list()), ...(await directories(join(dataDir, "containers")))]);
  for (const id of strays) if (!known.has(id)) await forget(state, "container", id);
  for (const id of await directories(join(dataDir, "sandboxes")))
    if (!known.has(id)) await forget(state, "sandbox", id);
  await releaseAbandoned(network, { knownPodIds: known, logger });
}

async function forget(state: RuntimeState, what: "container" | "sandbox", id: string): Promise<void> {
  try {
    if (what === "container") {
      await discardContainer(state, id);
      await state.containers.remove(id);
    } else {
      await discardSandbox(state, id, { leftBehind: true });
      await state.sandboxes.remove(id);
    }
    state.logger.info(`removed a half-made ${what}`, { id });
  } catch (error) {
    // Its record stays, so that the next start tries again.
    state.logger.error(`cannot remove a half-made ${what}`, { id, error });
  }
}

async function directories(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
