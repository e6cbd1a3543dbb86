import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What on this machine belongs to a runtime's directory or to one of its objects. */
export interface MachineTraces {
  readonly mounts: readonly string[];
  readonly processes: readonly string[];
  readonly cgroups: readonly string[];
  readonly interfaces: readonly string[];
}

/** `bridges`: those of the runtime; other tests on the machine have theirs. */
export async function findTraces(options: {
  readonly dataDir: string;
  readonly ids: readonly string[];
  readonly bridges: readonly string[];
}): Promise<MachineTraces> {
  const { dataDir, ids, bridges } = options;
  const concerns = (text: string) => text.includes(dataDir) || ids.some((id) => text.includes(id));
  const [mounts, processes, cgroups, interfaces] = await Promise.all([
    readFile("/proc/self/mounts", "utf8").then((text) => text.split("\n").filter(concerns)),
    findProcesses(concerns),
    findCgroups(new Set(ids)),
    listInterfaces(),
  ]);
  return {
    mounts,
    processes,
    cgroups,
    interfaces: interfaces.filter((line) => bridges.some((bridge) => line.includes(bridge))),
  };
}

/** The bridges that a runtime made for itself, from its own notes. */
export async function ownBridges(dataDir: string): Promise<string[]> {
  const folder = join(dataDir, "network");
  const notes = await Promise.all(
    (await readdir(folder)).map((name) =>
      readFile(join(folder, name, "bridge.json"), "utf8").catch(() => "{}"),
    ),
  );
  return notes.flatMap((note) => JSON.parse(note).bridge ?? []);
}

/** Each with the bridge that it is plugged into. */
async function listInterfaces(): Promise<string[]> {
  const { stdout } = await run("ip", ["-o", "link"]);
  return stdout.split("\n").map((line) => `${line.split(":")[1]} ${/ master \S+/.exec(line)?.[0] ?? ""}`);
}

async function findProcesses(concerns: (text: string) => boolean): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map(async (pid) => {
      const [command, cgroup] = await Promise.all([
        readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""),
        readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => ""),
      ]);
      return `${pid} ${command.replaceAll("\0", " ")} ${cgroup.replaceAll("\n", " ")}`;
    }),
  );
  return lines.filter(concerns);
}

async function findCgroups(ids: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = [];
  async function walk(path: string, depth: number): Promise<void> {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (!entry.isDirectory()) continue;
      if ([...ids].some((id) => entry.name.includes(id))) found.push(join(path, entry.name));
      else if (depth < 4) await walk(join(path, entry.name), depth + 1);
    }
  }
  await walk("/sys/fs/cgroup", 0);
  return found;
}
