import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { CriClient } from "../../cri/cri-client.ts";
import type { ObservedContainer } from "../observed-pod.ts";

export interface RotateDeps {
  readonly cri: CriClient;
  readonly maxBytes: number;
  /** With the one that is written to. */
  readonly maxFiles: number;
  readonly now: number;
}

/**
 * Puts a log that has grown too large aside and lets the runtime begin a new one. `0.log` becomes
 * `0.log.20260101-120000`, older ones are compressed, the oldest go.
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
    // The runtime goes on writing to the old file: it has to be found under its name again.
    await rename(aside, logPath);
    throw error;
  }
}

/** Of the logs that were put aside before, oldest first: which go now, and which are packed. */
export function planRotation(
  rotated: readonly string[],
  maxFiles: number,
): { readonly remove: readonly string[]; readonly compress: readonly string[] } {
  // Room for the one that is about to be put aside, and for the one that is written to.
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
  // What a kubelet that was killed left half packed is of no use.
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

/** `20260101-120000`: sorts by time. */
function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
}
