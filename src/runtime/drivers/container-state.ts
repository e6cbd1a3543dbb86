import { existsSync, type FSWatcher, renameSync, statSync, watch, writeFileSync } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { type ContainerFiles, readMade, readText } from "./container-files.ts";
import type { ContainerState, ExitedState } from "./driver.ts";
import { isAlive } from "./linux/process-info.ts";

/** Exit code when the real one is lost: the machine restarted, or the monitor was killed. */
const exitCodeUnknown = 255;
/** Maximum time from a container's exit to its exit file. */
const exitFileDelayMs = 5000;

export interface StateReader {
  readonly files: ContainerFiles;
  readonly clock: Clock;
  /** Whether the container's process still waits for `start`. */
  readonly isWaiting: (pid: number) => boolean;
  readonly oomKills: () => number | undefined;
}

/** Reads the state from the files and the process table, without running a program. */
export async function readContainerState(question: StateReader): Promise<ContainerState> {
  const { files, clock } = question;
  const exited = await readExited(question);
  if (exited) return exited;
  const made = await readMade(files);
  if (!made) return { kind: "missing" };
  if (isAlive(made.container)) {
    if (question.isWaiting(made.container.pid)) return { kind: "created" };
    return { kind: "running", pid: made.container.pid, startedAt: await startTime(files, made.madeAt) };
  }
  const deadline = clock.now() + exitFileDelayMs;
  while (isAlive(made.monitor) && clock.now() < deadline) {
    const justExited = await readExited(question);
    if (justExited) return justExited;
    await clock.sleep(10);
  }
  // Read again: the monitor may have written it and exited in between.
  const late = await readExited(question);
  if (late) return late;
  if (!recordUnknownExit(files)) return { kind: "missing" };
  return (await readExited(question)) ?? { kind: "missing" };
}

/**
 * Records an unknown exit unless the container was removed meanwhile. Synchronous: as long as `made.json` exists, a
 * removal in progress has yet to reach the exit file.
 */
function recordUnknownExit(files: ContainerFiles): boolean {
  if (!existsSync(files.made)) return false;
  writeFileSync(`${files.exit}.new`, String(exitCodeUnknown), { mode: 0o600 });
  renameSync(`${files.exit}.new`, files.exit);
  return true;
}

async function readExited({ files, oomKills }: StateReader): Promise<ExitedState | undefined> {
  const code = await readText(files.exit);
  if (code === undefined || code.trim() === "") return undefined;
  const startedAt = await startTime(files, 0);
  // The file's time is that of the kernel's last tick and may be some milliseconds before a start that was just
  // recorded.
  const written = statSync(files.exit, { throwIfNoEntry: false });
  // Removed meanwhile.
  if (!written) return undefined;
  const finishedAt = Math.max(startedAt, Math.round(written.mtimeMs));
  const exitCode = Number.parseInt(code, 10);
  return {
    kind: "exited",
    exitCode: Number.isNaN(exitCode) ? exitCodeUnknown : exitCode,
    startedAt,
    finishedAt,
    oomKilled: existsSync(files.oom) || (oomKills() ?? 0) > 0,
  };
}

async function startTime(files: ContainerFiles, otherwise: number): Promise<number> {
  const text = await readText(files.startedAt);
  return text ? Number(text) : otherwise;
}

/** Waits for containers' exit files with one inotify watch for all. */
export interface ExitWatch {
  /** Calls `check` now, on every event of the exit file, and at intervals in case an event was lost. */
  until<T>(containerId: string, check: () => Promise<T | undefined>, signal: AbortSignal): Promise<T>;
  close(): void;
}

export function createExitWatch(dir: string, options: { clock: Clock; slowPollMs: number }): ExitWatch {
  const { clock, slowPollMs } = options;
  const wakers = new Map<string, Set<() => void>>();
  let watcher: FSWatcher | undefined;

  function startWatching(): void {
    try {
      watcher ??= watch(dir, { persistent: false }, (_event, name) => {
        for (const wake of wakers.get(String(name)) ?? []) wake();
      }).on("error", stopWatching);
    } catch {
      // The machine has no inotify watch left: polling continues without it.
    }
  }

  function stopWatching(): void {
    watcher?.close();
    watcher = undefined;
  }

  return {
    async until(containerId, check, signal) {
      startWatching();
      const mine = wakers.get(containerId) ?? new Set();
      wakers.set(containerId, mine);
      const wakeUp = createWakeUp();
      mine.add(wakeUp.wake);
      try {
        for (;;) {
          signal.throwIfAborted();
          const woken = wakeUp.next();
          const found = await check();
          if (found !== undefined) return found;
          await woken.orAt(clock.now() + slowPollMs, { clock, signal });
        }
      } finally {
        mine.delete(wakeUp.wake);
        if (mine.size === 0) wakers.delete(containerId);
      }
    },
    close: stopWatching,
  };
}
