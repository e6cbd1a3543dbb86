import { ContainerEventType } from "../../cri/generated/cri.ts";
import { createChildAbort } from "../../lib/abort.ts";
import type { ExitedState } from "../drivers/driver.ts";
import { releaseSandbox } from "../sandboxes/make-sandbox.ts";
import type { ContainerRecord, ExitedRecordState } from "../state/container-record.ts";
import { publishEvent, type RuntimeState } from "../state/runtime-state.ts";

/** Maximum time for a killed process to exit. */
const killTimeoutMs = 60_000;

/**
 * Sends the stop signal, waits, then kills. Holds no lock while it waits: a second stop with a shorter timeout takes
 * effect at once. Does nothing if the container is not running.
 */
export async function stopContainer(
  state: RuntimeState,
  container: ContainerRecord,
  { timeoutMs }: { timeoutMs: number },
): Promise<void> {
  const { driver } = state;
  const current = state.containers.get(container.id);
  if (current?.state.kind !== "running") return;
  if (timeoutMs > 0) {
    await driver.kill(container.id, container.stopSignal);
    if (await exitsWithin(state, container.id, timeoutMs)) return;
  }
  await driver.kill(container.id, "SIGKILL");
  if (await exitsWithin(state, container.id, killTimeoutMs)) return;
  throw new Error(`container ${container.id} did not exit after SIGKILL`);
}

/** Removes the process of a container that was created but never started. */
async function stopUnstarted(state: RuntimeState, container: ContainerRecord): Promise<void> {
  await state.driver.remove(container.id);
  const finishedAt = state.clock.now();
  await recordExit(state, container.id, {
    kind: "exited",
    exitCode: 137,
    startedAt: 0,
    finishedAt,
    reason: "Error",
    message: "the sandbox stopped before the container started",
  });
}

async function exitsWithin(state: RuntimeState, containerId: string, timeoutMs: number): Promise<boolean> {
  const waiting = createChildAbort(state.stopping);
  let late = false;
  const timer = setTimeout(
    () => {
      late = true;
      waiting.abort();
    },
    Math.min(timeoutMs, 2 ** 31 - 1),
  );
  try {
    state.stopping.throwIfAborted();
    const exit = await state.driver.wait(containerId, waiting.signal);
    await recordExit(state, containerId, exitedState(exit));
    return true;
  } catch (error) {
    if (late) return false;
    throw error;
  } finally {
    clearTimeout(timer);
    waiting.abort();
  }
}

/** Records the exit of a running container and publishes it. Called once per running container. */
export function watchExit(state: RuntimeState, containerId: string): void {
  const watch = state.driver.wait(containerId, state.stopping).then(
    (exit) => recordExit(state, containerId, exitedState(exit)),
    (error: unknown) => {
      // The container was removed, or the daemon stops: the next one reads the exit code from the driver.
      if (!state.stopping.aborted && state.containers.get(containerId))
        state.logger.warn("cannot wait for a container", { container: containerId, error });
    },
  );
  state.exitWatches.add(watch);
}

/** Records an exit. Does nothing if it is already recorded: the driver and a stop may both report it. */
export async function recordExit(
  state: RuntimeState,
  containerId: string,
  exit: ExitedRecordState,
): Promise<void> {
  const container = state.containers.get(containerId);
  if (!container || container.state.kind === "exited") return;
  const written = state.containers.put({ ...container, state: exit });
  publishEvent(state, {
    sandboxId: container.sandboxId,
    containerId,
    type: ContainerEventType.CONTAINER_STOPPED_EVENT,
  });
  await written;
}

/** State of an exited container, with the reasons that kubectl shows. */
export function exitedState({ exitCode, startedAt, finishedAt, oomKilled }: ExitedState): ExitedRecordState {
  const reason = oomKilled ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error";
  return { kind: "exited", exitCode, startedAt, finishedAt, reason, message: "" };
}

/** Stops the containers of a sandbox and releases its address. Idempotent; the caller holds its lock. */
export async function stopSandbox(state: RuntimeState, sandboxId: string): Promise<void> {
  const { sandboxes, containers, locks } = state;
  const wasReady = sandboxes.get(sandboxId)?.state.kind === "ready";
  // Changed first, so that no container can be created or started in it any more.
  await sandboxes.change(sandboxId, (sandbox) => ({ ...sandbox, state: { kind: "notReady" } }));
  const members = containers.list().filter((container) => container.sandboxId === sandboxId);
  await Promise.all(
    members.map(({ id }) =>
      locks.run(id, async () => {
        const container = containers.get(id);
        if (container?.state.kind === "created") await stopUnstarted(state, container);
        if (container?.state.kind === "running") await stopContainer(state, container, { timeoutMs: 0 });
      }),
    ),
  );
  await releaseSandbox(state, sandboxId);
  if (wasReady) publishEvent(state, { sandboxId, type: ContainerEventType.CONTAINER_STOPPED_EVENT });
}
