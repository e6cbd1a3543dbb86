import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../lib/logger.ts";
import type { ContainerState } from "../drivers/driver.ts";
import type { Network } from "../networks/network.ts";
import { isPinned } from "../networks/pin-namespaces.ts";
import { endLeftoverProcesses } from "../networks/run-process.ts";
import { discardSandbox, releaseSandbox } from "../sandboxes/make-sandbox.ts";
import { watchSandboxContainer } from "../sandboxes/sandbox-container.ts";
import type { ContainerRecord, ContainerRecordState } from "../state/container-record.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import type { SandboxRecord } from "../state/sandbox-record.ts";
import { discardContainer } from "./make-container.ts";
import { exitedState, watchExit } from "./stop-container.ts";

/**
 * Recovers the state after a start, before the first call is served: removes objects that an earlier daemon left half
 * created or half removed, and updates records with what happened while the daemon was down.
 */
export async function reconcile(state: RuntimeState): Promise<void> {
  const { sandboxes, containers } = state;
  for (const container of containers.list()) {
    if (container.state.kind === "making" || !sandboxes.get(container.sandboxId))
      await discard(state, "container", container.id);
  }
  for (const sandbox of sandboxes.list()) {
    if (sandbox.state.kind === "making") await discard(state, "sandbox", sandbox.id);
  }
  await Promise.all(
    containers.list().map((container) => logFailure(state, container.id, updateContainer(state, container))),
  );
  await Promise.all(
    sandboxes.list().map((sandbox) => logFailure(state, sandbox.id, checkSandbox(state, sandbox))),
  );
  await discardUnknown(state);
}

/** Logs a failure instead of failing the start; the object's removal tries again. */
async function logFailure({ logger }: RuntimeState, id: string, work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) =>
    logger.error("failed to recover state from the previous run", { id, error }),
  );
}

/** State of a record after comparing it with the driver's. Exported for its test. */
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
      // The machine restarted, or the container was removed externally.
      return {
        kind: "exited",
        exitCode: 255,
        startedAt: recorded.kind === "running" ? recorded.startedAt : 0,
        finishedAt: now,
        reason: "Unknown",
        message: "the container no longer existed when the runtime restarted",
      };
  }
}

async function updateContainer(state: RuntimeState, container: ContainerRecord): Promise<void> {
  const actual = await state.driver.state(container.id);
  const next = reconciledState(container.state, actual, state.clock.now());
  if (next.kind !== container.state.kind) await state.containers.put({ ...container, state: next });
  if (next.kind === "running") watchExit(state, container.id);
}

/** Checks that a sandbox has everything its containers share; otherwise releases it, and kubelets create a new one. */
async function checkSandbox(state: RuntimeState, sandbox: SandboxRecord): Promise<void> {
  const { id } = sandbox;
  if (sandbox.state.kind !== "ready") {
    // The daemon may have ended while stopping the sandbox, and its helper processes may still be running.
    await endLeftoverProcesses(id);
    await releaseSandbox(state, id);
    return;
  }
  const { network, ipc, uts } = sandbox.state.namespaces;
  const pins = [network, ipc, uts].filter((path) => path !== "host");
  const pinned = (await Promise.all(pins.map(isPinned))).every(Boolean);
  const alive = sandbox.state.container === "none" || (await state.driver.state(id)).kind === "running";
  if (pinned && alive) {
    watchSandboxContainer(state, id);
    return;
  }
  state.logger.warn("a sandbox lost its namespaces or its container", { sandbox: id });
  await state.sandboxes.put({ ...sandbox, state: { kind: "notReady" } });
  await releaseSandbox(state, id);
}

/** Removes objects of drivers, networks, root file systems and directories that have no record. */
async function discardUnknown(state: RuntimeState): Promise<void> {
  const { dataDir, driver, images, network, sandboxes, containers, logger } = state;
  const known = new Set([...sandboxes.list(), ...containers.list()].map(({ id }) => id));
  const strays = new Set([
    ...(await driver.list()),
    ...images.rootfsOwners(),
    ...(await directories(join(dataDir, "containers"))),
  ]);
  for (const id of strays) if (!known.has(id)) await discard(state, "container", id);
  for (const id of await directories(join(dataDir, "sandboxes")))
    if (!known.has(id)) await discard(state, "sandbox", id);
  await releaseAbandoned(network, { knownPodIds: known, logger });
}

async function discard(state: RuntimeState, what: "container" | "sandbox", id: string): Promise<void> {
  try {
    if (what === "container") {
      await discardContainer(state, id);
      await state.containers.remove(id);
    } else {
      await discardSandbox(state, id, { leftBehind: true });
      await state.sandboxes.remove(id);
    }
    state.logger.info(`removed an incomplete ${what}`, { id });
  } catch (error) {
    // The record stays, so that the next start tries again.
    state.logger.error(`cannot remove an incomplete ${what}`, { id, error });
  }
}

async function directories(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Releases networks of pods without a record, left by a daemon that was killed while creating or removing them. */
export async function releaseAbandoned(
  network: Network,
  { knownPodIds, logger }: { knownPodIds: ReadonlySet<string>; logger: Logger },
): Promise<void> {
  const abandoned = (await network.list()).filter((podId) => !knownPodIds.has(podId));
  await Promise.all(
    abandoned.map(async (podId) => {
      try {
        await network.detach(podId);
        logger.info("released the network of an unknown pod", { podId });
      } catch (error) {
        logger.warn("cannot release the network of an unknown pod", { podId, error });
      }
    }),
  );
}
