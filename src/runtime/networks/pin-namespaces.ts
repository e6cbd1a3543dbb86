import { mkdir, readdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NetworkError } from "./network.ts";
import { podVariable, runQuietTool } from "./run-process.ts";

export interface PinRequest {
  readonly podId: string;
  /** Directory of this pod only, which receives one file per kind. */
  readonly directory: string;
  readonly kinds: readonly NamespaceKind[];
  /** Requires the kind `uts`. */
  readonly hostname?: string;
  readonly sysctls?: Readonly<Record<string, string>>;
  /** Lines for `ip -batch` inside the new network namespace; loopback is up before the first. */
  readonly ipBatch?: readonly string[];
}

export type PinnedNamespaces = Readonly<Partial<Record<NamespaceKind, string>>>;

/**
 * Creates namespaces that exist without a process in them, as bind mounts created and set up by one call of unshare.
 * Replaces what an earlier attempt left in the directory. A failure leaves nothing behind.
 */
export async function pinNamespaces(request: PinRequest): Promise<PinnedNamespaces> {
  const { directory, kinds, hostname, podId } = request;
  const sysctls = planSysctls(request.sysctls ?? {}, kinds);
  if (kinds.length === 0) return {};
  await unpinNamespaces(directory);
  await mkdir(directory, { recursive: true, mode: 0o711 });
  await Promise.all(kinds.map((kind) => writeFile(join(directory, kind), "")));
  const writes = sysctls.map(([file, value]): [string, string] => [`/proc/sys/${file}`, value]);
  if (hostname !== undefined && kinds.includes("uts"))
    writes.unshift(["/proc/sys/kernel/hostname", hostname]);
  const batch = ["link set lo up", ...(request.ipBatch ?? [])];
  try {
    await runQuietTool(
      "unshare",
      [
        ...kinds.map((kind) => `--${kind}=${join(directory, kind)}`),
        ...["sh", "-c", setUpScript, "sh", kinds.includes("net") ? "ip" : ""],
        ...writes.flat(),
      ],
      { input: `${batch.join("\n")}\n`, env: { [podVariable]: podId } },
    );
  } catch (error) {
    await unpinNamespaces(directory);
    throw error;
  }
  return Object.fromEntries(kinds.map((kind) => [kind, join(directory, kind)]));
}

// /proc/sys shows each process the values of its own namespaces. Without iproute2 a CNI plugin sets loopback up.
const setUpScript = `set -e
program=$1; shift
while [ $# -gt 0 ]; do printf %s "$2" > "$1"; shift 2; done
if [ "$program" ] && command -v "$program" > /dev/null; then exec "$program" -batch -; fi`;

/** Removes the namespaces pinned in a directory, and the directory. Idempotent. */
export async function unpinNamespaces(directory: string): Promise<void> {
  // Repeated because a mount may cover another one, or appear meanwhile, when a daemon was killed while pinning. Later
  // processes find no file to mount on.
  for (let round = 1; ; round++) {
    const pinned = await listPinned(directory);
    // The umount of a killed daemon may be faster. If something stays mounted, rm fails.
    if (pinned.length > 0) await runQuietTool("umount", ["--lazy", ...pinned]).catch(() => {});
    try {
      return await rm(directory, { recursive: true, force: true });
    } catch (error) {
      const mounted = error instanceof Error && "code" in error && error.code === "EBUSY";
      if (!mounted || round === 10) throw error;
    }
  }
}

/** Whether the path is a pinned namespace, and not the empty file below it. */
export async function isPinned(path: string): Promise<boolean> {
  const nsfs = 0x6e736673;
  return statfs(path).then(
    ({ type }) => type === nsfs,
    () => false,
  );
}

async function listPinned(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const paths = names.map((name) => join(directory, name));
  const pinned = await Promise.all(paths.map(isPinned));
  return paths.filter((_path, i) => pinned[i]);
}

export type NamespaceKind = "net" | "ipc" | "uts";

/** Namespaces by kernel parameter; other parameters belong to the whole machine. */
const owners: readonly (readonly [RegExp, NamespaceKind])[] = [
  [/^net\//, "net"],
  [/^kernel\/(shm|msg|sem)/, "ipc"],
  [/^fs\/mqueue\//, "ipc"],
  [/^kernel\/domainname$/, "uts"],
];

/**
 * Files below /proc/sys to write inside the namespaces. Rejects a parameter that none of them owns, because it would
 * change the host. `net.ipv4.conf.eth0/100.x` and `net/ipv4/conf/eth0.100/x` are the same, as in sysctl(8).
 */
export function planSysctls(
  sysctls: Readonly<Record<string, string>>,
  kinds: readonly NamespaceKind[],
): readonly (readonly [file: string, value: string])[] {
  return Object.entries(sysctls).map(([name, value]) => {
    const file = toPath(name);
    const owner = owners.find(([pattern]) => pattern.test(file))?.[1];
    if (!owner || file.split("/").includes(".."))
      throw new NetworkError("invalid", `sysctl ${name} is not one of a pod: it would change the host`);
    if (!kinds.includes(owner))
      throw new NetworkError("invalid", `sysctl ${name} needs a ${owner} namespace of the pod's own`);
    return [file, value];
  });
}

function toPath(name: string): string {
  const firstSeparator = /[./]/.exec(name)?.[0];
  if (firstSeparator === "/") return name;
  return name.replace(/[./]/g, (separator) => (separator === "." ? "/" : "."));
}
