import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MadeRecord } from "../../runtime/drivers/container-files.ts";
import { isAlive } from "../../runtime/drivers/linux/process-info.ts";
import { decodeContainer } from "../../runtime/state/container-record.ts";
import { dataDirPaths, runtimeDirOf } from "../data-dir/data-dir-files.ts";

export interface RunningContainer {
  readonly id: string;
  readonly node: string;
  readonly pid: number;
  /** Empty if the records do not contain it. */
  readonly name: string;
}

/** Running containers of Kindling's runtime, found by its files; works while the runtime is stopped. */
export async function runningContainers(dataDir: string): Promise<readonly RunningContainer[]> {
  const { nodes } = dataDirPaths(dataDir);
  const found = (await namesIn(nodes)).map(async (node) => {
    const runtimeDir = runtimeDirOf(join(nodes, node));
    const driverDir = join(runtimeDir, "driver");
    const handlers = await namesIn(join(driverDir, "handlers"));
    const drivers = [driverDir, ...handlers.map((name) => join(driverDir, "handlers", name))];
    const lists = drivers
      .flatMap((dir) => [join(dir, "oci", "containers"), join(dir, "host", "containers")])
      .map(async (dir) => {
        const ids = await namesIn(dir);
        return Promise.all(
          ids.map((id) => describe({ id, node, runtimeDir, made: join(dir, id, "made.json") })),
        );
      });
    return (await Promise.all(lists)).flat(2);
  });
  return (await Promise.all(found)).flat().sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function describe(at: {
  id: string;
  node: string;
  runtimeDir: string;
  made: string;
}): Promise<RunningContainer[]> {
  const made = await readJson<MadeRecord>(at.made);
  if (!made?.container || !isAlive(made.container)) return [];
  const { id, node } = at;
  return [{ id, node, pid: made.container.pid, name: await nameOf(at) }];
}

async function nameOf({ runtimeDir, id }: { runtimeDir: string; id: string }): Promise<string> {
  const record = await readJson(join(runtimeDir, "containers", `${id}.json`));
  try {
    const { labels } = decodeContainer(record).config;
    const part = (name: string) => labels[`io.kubernetes.${name}`] ?? "";
    return `${part("pod.namespace")}/${part("pod.name")}/${part("container.name")}`;
  } catch {
    // The process of a sandbox, or one without a record.
    return "";
  }
}

async function readJson<T = unknown>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
