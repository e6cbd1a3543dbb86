import { readFile, statfs } from "node:fs/promises";
import { isIPv4 } from "node:net";
import {
  arch,
  availableParallelism,
  cpus,
  type NetworkInterfaceInfo,
  networkInterfaces,
  release,
} from "node:os";
import { join } from "node:path";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Image, StatusResponse, VersionResponse } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";

/** Properties of the machine. */
export interface Machine {
  readonly architecture: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly machineId: string;
  readonly systemUuid: string;
  /** Changes with each boot. */
  readonly bootId: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  /** Size of the file system of the data directory. */
  readonly storageBytes: number;
  /** At most one address per IP family. The interface of the default route is preferred. */
  readonly addresses: readonly string[];
}

interface ReadOptions {
  readonly dataDir: string;
  /** Root directory of the machine's files. Defaults to `/`. */
  readonly root?: string;
  readonly interfaces?: () => NodeJS.Dict<NetworkInterfaceInfo[]>;
}

/** Reads the machine's properties. Unreadable values are empty or 0. Not cached, because memory and addresses can change. */
export async function readMachine(options: ReadOptions): Promise<Machine> {
  const { dataDir, root = "/", interfaces = networkInterfaces } = options;
  const read = async (...paths: readonly string[]): Promise<string> => {
    const texts = await Promise.all(paths.map((path) => readFile(join(root, path), "utf8").catch(() => "")));
    return texts.map((text) => text.trim()).find(Boolean) ?? "";
  };
  const [osRelease, machineId, systemUuid, bootId, memory, routes, storage] = await Promise.all([
    read("etc/os-release", "usr/lib/os-release"),
    read("etc/machine-id", "var/lib/dbus/machine-id"),
    read("sys/class/dmi/id/product_uuid"),
    read("proc/sys/kernel/random/boot_id"),
    read("proc/meminfo"),
    read("proc/net/route"),
    statfs(dataDir).catch(() => undefined),
  ]);
  return {
    architecture: goArchitectures.get(arch()) ?? arch(),
    kernelVersion: release(),
    osImage: prettyName(osRelease),
    machineId,
    // Some machines have none, and only root can read it.
    systemUuid: systemUuid || machineId,
    bootId,
    cpus: cpus().length || availableParallelism(),
    memoryBytes: memoryField(memory, "MemTotal"),
    swapBytes: memoryField(memory, "SwapTotal"),
    storageBytes: storage ? storage.blocks * storage.bsize : 0,
    addresses: chooseAddresses(interfaces(), defaultInterface(routes)),
  };
}

/** Go's names of architectures, as used in images and node labels. */
const goArchitectures: ReadonlyMap<string, string> = new Map([
  ["x64", "amd64"],
  ["ia32", "386"],
  ["ppc64", "ppc64le"],
]);

function prettyName(osRelease: string): string {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1] ?? "Linux";
  return value.trim().replace(/^(["'])(.*)\1$/, "$2");
}

function memoryField(text: string, name: string): number {
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
  return Number(kibibytes ?? 0) * 1_024;
}

/** Returns the interface of the default route with the lowest metric, from /proc/net/route. */
function defaultInterface(routes: string): string | undefined {
  return routes
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, destination, , , , , , mask]) => destination === "00000000" && mask === "00000000")
    .sort((a, b) => Number(a[6]) - Number(b[6]))[0]?.[0];
}

function chooseAddresses(
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>,
  preferred: string | undefined,
): string[] {
  const usable = Object.entries(interfaces)
    .sort(([a], [b]) => Number(b === preferred) - Number(a === preferred))
    .flatMap(([, addresses]) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !/^(fe[89ab]|ff|169\.254\.)/i.test(address))
    .map(({ address }) => address);
  const found = [usable.find((ip) => isIPv4(ip)), usable.find((ip) => !isIPv4(ip))];
  const addresses = found.filter((ip) => ip !== undefined);
  // Pods can communicate with each other on a machine without a network.
  return addresses.length > 0 ? addresses : ["127.0.0.1"];
}

/** Last version and status of the runtime, with the time of the response. */
export interface RuntimeState {
  readonly version: VersionResponse;
  readonly status: StatusResponse;
  readonly atMs: number;
}

/** Timeout, so that a hanging runtime does not delay the node status. */
const timeoutMs = 5_000;

export async function readRuntime(
  runtime: Pick<CriClient["runtime"], "version" | "status">,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<RuntimeState> {
  const options = { signal, timeoutMs };
  const [version, status] = await Promise.all([
    runtime.version({ version: "0.1.0" }, options),
    runtime.status({ verbose: false }, options),
  ]);
  return { version, status, atMs: clock.now() };
}

export async function readImages(
  images: Pick<CriClient["images"], "listImages">,
  signal: AbortSignal,
): Promise<readonly Image[]> {
  return (await images.listImages({ filter: undefined }, { signal, timeoutMs })).images;
}
