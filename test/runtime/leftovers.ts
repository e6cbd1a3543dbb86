import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { OwnBridge } from "../support/cri/machine-traces.ts";

const run = promisify(execFile);

/** What a runtime without pods still holds, by what the kernel and the disk show rather than by its own names. */
export interface Leftovers {
  /** Cables in its bridges, whatever they are called. */
  readonly bridgePorts: readonly string[];
  /** Addresses that either network has allocated. */
  readonly takenAddresses: readonly string[];
  /** Packet rules that lead to a pod. */
  readonly rules: readonly string[];
  /** Processes that live among files of its pods, whichever cgroup they are in. */
  readonly insiders: readonly string[];
  /** Namespaces that a file of its data directory keeps alive. */
  readonly pinnedNamespaces: readonly string[];
  /** Root file systems, containers, exit codes and states of OCI runtimes on disk. */
  readonly files: readonly string[];
}

export async function findLeftovers(options: {
  readonly dataDir: string;
  readonly podIds: readonly string[];
  readonly bridges: readonly OwnBridge[];
}): Promise<Leftovers> {
  const { dataDir, podIds, bridges } = options;
  const [ports, rules] = await Promise.all([
    Promise.all(bridges.map(portsOf)),
    run("iptables-save").then(
      ({ stdout }) => stdout,
      () => "",
    ),
  ]);
  return {
    bridgePorts: ports.flat(),
    takenAddresses: filesBelow(join(dataDir, "network")).filter((name) =>
      /(^|\/)\d+\.\d+\.\d+\.\d+$/.test(name),
    ),
    rules: rules.split("\n").filter((rule) => podIds.some((id) => rule.includes(id))),
    insiders: findInsiders(dataDir),
    pinnedNamespaces: readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .filter((line) => line.includes(` ${dataDir}/`) && line.includes(" - nsfs ")),
    files: ["images/rootfs", ...driverFolders(dataDir)].flatMap((folder) =>
      list(join(dataDir, folder)).map((name) => `${folder}/${name}`),
    ),
  };
}

async function portsOf({ name: bridge }: OwnBridge): Promise<string[]> {
  if (!existsSync(`/sys/class/net/${bridge}`)) return [];
  return readdirSync(`/sys/class/net/${bridge}/brif`);
}

function driverFolders(dataDir: string): string[] {
  const handlers = list(join(dataDir, "driver/handlers")).map((name) => `driver/handlers/${name}`);
  return ["driver", ...handlers].flatMap((folder) =>
    list(join(dataDir, folder)).flatMap((driver) =>
      ["containers", "exits", "runc", "crun", "gated-runtime"].map((name) => `${folder}/${driver}/${name}`),
    ),
  );
}

/** Containers have the pod's files, which lie in the data directory, mounted at other paths. */
function findInsiders(dataDir: string): string[] {
  // The file system that it is on may itself be mounted somewhere: its last part is enough to know it by.
  const part = `${dataDir.split("/").slice(-2).join("/")}/`;
  const isOurs = (mount: string) => {
    const [, , , source = "", target = ""] = mount.split(" ");
    return source.includes(part) && !target.includes(part);
  };
  return list("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(`/proc/${pid}/mountinfo`).split("\n").some(isOurs))
    .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll("\0", " ")}`);
}

function filesBelow(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** A process may exit while it is inspected. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
