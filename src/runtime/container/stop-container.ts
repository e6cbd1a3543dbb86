import { createChildAbort } from "../../lib/child-abort.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { exitedState, recordExit } from "./watch-exit.ts";

/** How long the kernel may take to end a killed process before the call gives up. */
const killTimeoutMs = 60_000;

/**
 * Asks with the stop signal, waits, then kills. Holds no lock while it waits: a second stop with a shorter time takes
 * effect at once. A container that does not run is left as it is.
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
  throw new Error(`container ${container.id} does not end, though it was killed`);
}

/** A process that was created but never started: nobody wants its exit code. */
export async function endUnstarted(state: RuntimeState, container: ContainerRecord): Promise<void> {
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
