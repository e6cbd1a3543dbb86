import { ContainerEventType } from "../cri/generated/cri.ts";
import type { SimulatedCore } from "./core.ts";
import { publishContainerEvent } from "./publish-event.ts";
import { type ContainerRecord, type Ending, killed, type PlannedExit } from "./records.ts";
import type { ContainerScript, ExitScript } from "./script/scripts.ts";

/** How a container ends by itself; undefined: it stays up. */
export function decideExit(
  exit: ExitScript | undefined,
  { attempt, startedAt }: { attempt: number; startedAt: number },
): PlannedExit | undefined {
  if (!exit || attempt >= (exit.times ?? Number.POSITIVE_INFINITY)) return undefined;
  return { atMs: startedAt + (exit.afterMs ?? 0), ...endingOf(exit) };
}

/** How it ends when it is stopped: with grace it hears its stop signal, after that or without it is killed. */
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

/** Of two ends the earlier one counts. Does nothing for a container that does not run. */
export function planExit(core: SimulatedCore, container: ContainerRecord, exit: PlannedExit): void {
  const { state } = container;
  if (state.kind !== "running" || (state.exit && state.exit.atMs < exit.atMs)) return;
  container.state = { ...state, exit };
  schedulePlanned(core, container);
}

/** For a container whose state says how it will end; also of a daemon that has taken it over. */
export function schedulePlanned(core: SimulatedCore, container: ContainerRecord): void {
  const { state } = container;
  if (state.kind !== "running" || !state.exit) return;
  const { atMs, ...ending } = state.exit;
  const end = () => endContainer(core, container, { ...ending, finishedAt: atMs });
  core.planned.get(container.id)?.();
  if (atMs > core.clock.now()) core.planned.set(container.id, core.agenda.at(atMs, end));
  else end();
}

/** Does nothing for one that has already ended. */
export function endContainer(
  core: SimulatedCore,
  container: ContainerRecord,
  { finishedAt = core.clock.now(), ...ending }: Ending & { finishedAt?: number },
): void {
  const { state } = container;
  if (state.kind === "exited") return;
  const startedAt = state.kind === "running" ? state.startedAt : 0;
  container.state = { kind: "exited", startedAt, finishedAt, ...ending };
  forgetPlans(core, container.id);
  publishContainerEvent(core, container, ContainerEventType.CONTAINER_STOPPED_EVENT);
}

/** Cancels its planned exit and wakes who waits for it. */
export function forgetPlans(core: SimulatedCore, containerId: string): void {
  core.planned.get(containerId)?.();
  core.planned.delete(containerId);
  for (const wake of core.waiting.get(containerId) ?? []) wake();
  core.waiting.delete(containerId);
}

/** Resolves when it does not run any more. */
export function untilEnded(
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
