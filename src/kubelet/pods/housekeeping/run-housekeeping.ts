import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { CriClient } from "../../../cri/cri-client.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../model/observed-pod.ts";
import { unlessGone } from "../clean-up-pod.ts";
import type { PodObserver } from "../pod-observer.ts";

export interface HousekeepingOptions {
  readonly cri: CriClient;
  readonly observer: Pick<PodObserver, "list" | "refresh">;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 10_000;

/** Removes dead containers and sandboxes and rotates logs, every ten seconds until the signal aborts. */
export async function runHousekeeping(options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, observer } = options;
  for (;;) {
    await clock.sleep(everyMs, signal).catch(() => {});
    if (signal.aborted) return;
    for (const pod of [...observer.list()]) {
      try {
        await removeDead(options, pod);
        await rotateLogs(options, pod);
      } catch (error) {
        // A failure of one pod does not affect the others.
        logger.warn("housekeeping of a pod failed, retrying in ten seconds", {
          pod: pod.name,
          error,
        });
      }
    }
  }
}

async function removeDead({ cri, observer }: HousekeepingOptions, pod: ObservedPod): Promise<void> {
  const { containers, sandboxes } = findDead(pod);
  for (const { id, logPath } of containers) {
    await unlessGone(cri.runtime.removeContainer({ containerId: id }));
    await removeLog(logPath);
  }
  for (const { id } of sandboxes) await unlessGone(cri.runtime.removePodSandbox({ podSandboxId: id }));
  if (containers.length + sandboxes.length > 0) await observer.refresh(pod.uid);
}

/** Removes a log with its rotated files. */
async function removeLog(logPath: string): Promise<void> {
  if (!logPath) return;
  const directory = dirname(logPath);
  const name = basename(logPath);
  const names = await readdir(directory).catch(() => []);
  const own = names.filter((one) => one === name || one.startsWith(`${name}.`));
  for (const one of own) await rm(join(directory, one), { force: true });
}

async function rotateLogs(options: HousekeepingOptions, pod: ObservedPod): Promise<void> {
  const { cri, clock, containerLogMaxSizeBytes: maxBytes, containerLogMaxFiles: maxFiles } = options;
  for (const container of pod.containers) {
    await rotateLog({ cri, maxBytes, maxFiles, now: clock.now() }, container);
  }
}

export interface Dead {
  readonly containers: readonly ObservedContainer[];
  readonly sandboxes: readonly ObservedSandbox[];
}

/**
 * Finds containers and sandboxes of a running pod that can be removed: of each container, all exited attempts except
 * the last one, whose log and exit code are kept; and sandboxes without containers.
 */
export function findDead({ containers, sandboxes }: ObservedPod): Dead {
  const kept = new Map<string, number>();
  const dead = containers.filter(({ name, state }) => {
    if (state.kind !== "exited") return false;
    const before = kept.get(name) ?? 0;
    kept.set(name, before + 1);
    return before > 0;
  });
  const deadIds = new Set(dead.map(({ id }) => id));
  const [newest, ...older] = sandboxes;
  const inUse = new Set(containers.filter(({ id }) => !deadIds.has(id)).map(({ sandboxId }) => sandboxId));
  return {
    containers: dead,
    sandboxes: newest ? older.filter(({ id, ready }) => !ready && !inUse.has(id)) : [],
  };
}

export interface RotateDeps {
  readonly cri: CriClient;
  readonly maxBytes: number;
  /** Maximum number of files, including the current one. */
  readonly maxFiles: number;
  readonly now: number;
}

/**
 * Renames a log that exceeds its maximum size and has the runtime open a new one. `0.log` becomes
 * `0.log.20260101-120000`; older files are compressed, and the oldest ones removed.
 */
export async function rotateLog(deps: RotateDeps, container: ObservedContainer): Promise<void> {
  const { logPath } = container;
  if (container.state.kind !== "running" || (await sizeOf(logPath)) < deps.maxBytes) return;
  const rotated = await listRotated(logPath);
  const { remove, compress } = planRotation(rotated, deps.maxFiles);
  for (const name of remove) await rm(join(dirname(logPath), name), { force: true });
  for (const name of compress) await compressFile(join(dirname(logPath), name));
  const aside = `${logPath}.${timestamp(deps.now)}`;
  await rename(logPath, aside);
  try {
    await deps.cri.runtime.reopenContainerLog({ containerId: container.id });
  } catch (error) {
    // The runtime still writes to the old file, so it gets its name back.
    await rename(aside, logPath);
    throw error;
  }
}

/** Decides which rotated files, sorted by age, are removed and which are compressed. */
export function planRotation(
  rotated: readonly string[],
  maxFiles: number,
): { readonly remove: readonly string[]; readonly compress: readonly string[] } {
  // Reserves one file for the current log and one for the log that is rotated now.
  const keep = Math.max(0, maxFiles - 2);
  const split = Math.max(0, rotated.length - keep);
  return {
    remove: rotated.slice(0, split),
    compress: rotated.slice(split).filter((name) => !name.endsWith(".gz")),
  };
}

async function listRotated(logPath: string): Promise<string[]> {
  const prefix = `${basename(logPath)}.`;
  const names = await readdir(dirname(logPath));
  // Removes incomplete files of a kubelet that was killed.
  for (const name of names.filter((it) => it.startsWith(prefix) && it.endsWith(".tmp"))) {
    await rm(join(dirname(logPath), name), { force: true });
  }
  return names.filter((name) => name.startsWith(prefix) && !name.endsWith(".tmp")).sort();
}

async function compressFile(path: string): Promise<void> {
  await pipeline(createReadStream(path), createGzip(), createWriteStream(`${path}.gz.tmp`));
  await rename(`${path}.gz.tmp`, `${path}.gz`);
  await rm(path, { force: true });
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}

/** Formats `20260101-120000`, which sorts by time. */
function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
}
