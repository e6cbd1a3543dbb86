import { ContainerEventType } from "../../cri/generated/cri.ts";
import type { ContainerScript, ExitScript } from "../scripts/scripts.ts";
import type { SimulatedCore } from "./core.ts";
import { publishContainerEvent } from "./messages.ts";
import { type ContainerRecord, type Ending, killed, type PlannedExit } from "./state.ts";

/** Decides when and how a container exits without being stopped; undefined if it keeps running. */
export function decideExit(
  exit: ExitScript | undefined,
  { attempt, startedAt }: { attempt: number; startedAt: number },
): PlannedExit | undefined {
  if (!exit || attempt >= (exit.times ?? Number.POSITIVE_INFINITY)) return undefined;
  return { atMs: startedAt + (exit.afterMs ?? 0), ...endingOf(exit) };
}

/** Decides how a container exits when it is stopped: with its stop signal, or killed after the grace period. */
export function decideStop(
  { stopDelayMs = 0, stopExitCode = 143 }: ContainerScript,
  { now, graceMs }: { now: number; graceMs: number },
): PlannedExit {
  if (graceMs <= 0 || stopDelayMs > graceMs) return { atMs: now + Math.max(0, graceMs), ...killed };
  return { atMs: now + stopDelayMs, ...endingOf({ code: stopExitCode }) };
}

export function endingOf({ code, reason, message = "" }: ExitScript): Ending {
  return { exitCode: code, reason: reason ?? (code === 0 ? "Completed" : "Error"), message };
}

/** Plans an exit unless an earlier one is planned. Ignored for a container that is not running. */
export function planExit(core: SimulatedCore, container: ContainerRecord, exit: PlannedExit): void {
  const { state } = container;
  if (state.kind !== "running" || (state.exit && state.exit.atMs < exit.atMs)) return;
  container.state = { ...state, exit };
  schedulePlanned(core, container);
}

/** Schedules the planned exit of a container, also after another runtime has taken over its state. */
export function schedulePlanned(core: SimulatedCore, container: ContainerRecord): void {
  const { state } = container;
  if (state.kind !== "running" || !state.exit) return;
  const { atMs, ...ending } = state.exit;
  const end = () => endContainer(core, container, { ...ending, finishedAt: atMs });
  core.planned.get(container.id)?.();
  if (atMs > core.clock.now()) core.planned.set(container.id, core.timers.at(atMs, end));
  else end();
}

/** Ends a container. Ignored if it has already exited. */
export function endContainer(
  core: SimulatedCore,
  container: ContainerRecord,
  { finishedAt = core.clock.now(), ...ending }: Ending & { finishedAt?: number },
): void {
  const { state } = container;
  if (state.kind === "exited") return;
  const startedAt = state.kind === "running" ? state.startedAt : 0;
  container.state = { kind: "exited", startedAt, finishedAt, ...ending };
  cancelPlannedExit(core, container.id);
  publishContainerEvent(core, container, ContainerEventType.CONTAINER_STOPPED_EVENT);
}

/** Cancels the planned exit and wakes calls that wait for it. */
export function cancelPlannedExit(core: SimulatedCore, containerId: string): void {
  core.planned.get(containerId)?.();
  core.planned.delete(containerId);
  for (const wake of core.waiting.get(containerId) ?? []) wake();
  core.waiting.delete(containerId);
}

/** Resolves when the container is not running. */
export function waitForExit(
  core: SimulatedCore,
  container: ContainerRecord,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (container.state.kind !== "running") return resolve();
    if (signal.aborted) return reject(signal.reason);
    const waiters = core.waiting.get(container.id) ?? new Set();
    core.waiting.set(container.id, waiters);
    const onAbort = () => {
      waiters.delete(wake);
      reject(signal.reason);
    };
    const wake = () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    waiters.add(wake);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
