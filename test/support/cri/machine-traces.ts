import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { hostLinkName } from "../../../src/runtime/networks/bridge/bridge-device.ts";

const run = promisify(execFile);

/** Whatever a runtime's network keeps on disk of pods: their ids and addresses, in files named for them. */
export async function networkNotes(dataDir: string): Promise<{ podIds: string[]; addresses: string[] }> {
  const folder = join(dataDir, "network");
  const list = async (name: string) => {
    const networks = await readdir(folder).catch(() => []);
    const lists = networks.map((network) => readdir(join(folder, network, name)).catch(() => []));
    return (await Promise.all(lists)).flat();
  };
  const [pods, namespaces, addresses] = await Promise.all(["pods", "namespaces", "addresses"].map(list));
  const podIds = [...(pods ?? []), ...(namespaces ?? [])].map((name) => name.replace(/\.json(\.new)?$/, ""));
  return { podIds: [...new Set(podIds)], addresses: addresses ?? [] };
}

/** What on this machine belongs to a runtime's directory or to one of its objects. */
export interface MachineTraces {
  readonly mounts: readonly string[];
  readonly processes: readonly string[];
  readonly cgroups: readonly string[];
  readonly interfaces: readonly string[];
}

/** A bridge that a runtime made for itself. Another test may have its name next; its number is not given again. */
export interface OwnBridge {
  readonly name: string;
  readonly number: number;
}

export async function findTraces(options: {
  readonly dataDir: string;
  readonly ids: readonly string[];
  readonly bridges: readonly OwnBridge[];
}): Promise<MachineTraces> {
  const { dataDir, ids, bridges } = options;
  const owned = [...bridges.map(({ number }) => `${number}:`), ...ids.map(hostLinkName)];
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
    // A pod's end of the cable is named for the pod, whether or not it is still plugged in.
    interfaces: interfaces.filter((line) => owned.some((one) => line.split(/[ @]/).includes(one))),
  };
}

/** Existing bridges among those in the runtime's records. */
export async function ownBridges(dataDir: string): Promise<OwnBridge[]> {
  const folder = join(dataDir, "network");
  const notes = await Promise.all(
    (await readdir(folder)).map((name) =>
      readFile(join(folder, name, "bridge.json"), "utf8").catch(() => "{}"),
    ),
  );
  const names: string[] = notes.flatMap((note) => JSON.parse(note).bridge ?? []);
  const numbers = names.map((name) => readFile(`/sys/class/net/${name}/ifindex`, "utf8").catch(() => ""));
  return (await Promise.all(numbers)).flatMap((number, i) =>
    number === "" ? [] : { name: names[i] ?? "", number: Number(number) },
  );
}

/** `7: kindling0` each. */
async function listInterfaces(): Promise<string[]> {
  const { stdout } = await run("ip", ["-o", "link"]);
  return stdout.split("\n").map((line) => line.split(":").slice(0, 2).join(":"));
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
      else if (depth < 8) await walk(join(path, entry.name), depth + 1);
    }
  }
  await walk("/sys/fs/cgroup", 0);
  return found;
}
