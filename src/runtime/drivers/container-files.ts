import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerSpec } from "./driver.ts";
import type { ProcessIdentity } from "./linux/process-info.ts";

/**
 * State of a driver on disk. `spec.json` is written first and `made.json` last: a directory without the latter was left
 * by a daemon that was killed in `create`. Monitors write `exits/<id>` with one rename.
 */
export interface StateDir {
  readonly root: string;
  readonly exits: string;
  container(containerId: string): ContainerFiles;
  list(): Promise<string[]>;
}

export interface ContainerFiles {
  readonly dir: string;
  readonly spec: string;
  readonly made: string;
  readonly startedAt: string;
  readonly exit: string;
  readonly oom: string;
}

/** Record written when `create` is complete. */
export interface MadeRecord {
  readonly container: ProcessIdentity;
  readonly monitor: ProcessIdentity;
  readonly madeAt: number;
}

export async function openStateDir(root: string): Promise<StateDir> {
  const containers = join(root, "containers");
  const exits = join(root, "exits");
  await mkdir(containers, { recursive: true, mode: 0o711 });
  await mkdir(exits, { recursive: true, mode: 0o700 });
  await removeOrphanedExits(exits, containers);
  return {
    root,
    exits,
    container(containerId) {
      const dir = join(containers, containerId);
      return {
        dir,
        spec: join(dir, "spec.json"),
        made: join(dir, "made.json"),
        startedAt: join(dir, "started-at"),
        exit: join(exits, containerId),
        oom: join(dir, "oom"),
      };
    },
    async list() {
      return (await readdir(containers)).sort();
    },
  };
}

/** Removes exit files of containers whose removal was interrupted. */
async function removeOrphanedExits(exits: string, containers: string): Promise<void> {
  const known = new Set(await readdir(containers));
  for (const name of await readdir(exits))
    if (!known.has(name.replace(/\.new$/, ""))) await rm(join(exits, name), { force: true });
}

export async function readSpec(files: ContainerFiles): Promise<ContainerSpec | undefined> {
  return readJson<ContainerSpec>(files.spec);
}

export async function readMade(files: ContainerFiles): Promise<MadeRecord | undefined> {
  return readJson<MadeRecord>(files.made);
}

async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    // Truncated by a power failure: treated as missing.
    return undefined;
  }
}

export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
