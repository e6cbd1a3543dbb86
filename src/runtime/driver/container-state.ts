import { existsSync, renameSync, statSync, writeFileSync } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import { type ContainerFiles, readMade, readText } from "./container-files.ts";
import type { ContainerState, ExitedState } from "./driver.ts";
import { isAlive } from "./linux/process-info.ts";

/** The exit code when nobody was left to learn it: the machine restarted, or the monitor was killed. */
const exitCodeUnknown = 255;
/** How long a monitor may take from its container's end to the exit file. */
const exitFileDelayMs = 5000;

export interface StateQuestion {
  readonly files: ContainerFiles;
  readonly clock: Clock;
  /** Whether the container's process still waits for `start`. */
  readonly isWaiting: (pid: number) => boolean;
  readonly oomKills: () => number | undefined;
}

/** What the files and the process table say. No program is run for it. */
export async function readContainerState(question: StateQuestion): Promise<ContainerState> {
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
  // Looked at once more: the monitor may have written it and gone in between.
  const late = await readExited(question);
  if (late) return late;
  if (!recordUnknownExit(files)) return { kind: "missing" };
  return (await readExited(question)) ?? { kind: "missing" };
}

/**
 * Not for a container that was removed meanwhile. In one go: as long as `made.json` is there, a removal under way still
 * has to come to the exit file.
 */
function recordUnknownExit(files: ContainerFiles): boolean {
  if (!existsSync(files.made)) return false;
  writeFileSync(`${files.exit}.new`, String(exitCodeUnknown), { mode: 0o600 });
  renameSync(`${files.exit}.new`, files.exit);
  return true;
}

async function readExited({ files, oomKills }: StateQuestion): Promise<ExitedState | undefined> {
  const code = await readText(files.exit);
  if (code === undefined || code.trim() === "") return undefined;
  const startedAt = await startTime(files, 0);
  // A file's time is that of the kernel's last tick: it may be some milliseconds before a start that was just noted.
  const written = statSync(files.exit, { throwIfNoEntry: false });
  // Removed while we looked.
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
