import { mkdir, readdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type NamespaceKind, planSysctls } from "./plan-sysctls.ts";
import { podVariable, runQuietTool } from "./run-process.ts";

export interface PinRequest {
  readonly podId: string;
  /** Of this pod alone: one file per kind is made in it, and nothing else may be there. */
  readonly directory: string;
  readonly kinds: readonly NamespaceKind[];
  /** Needs the kind `uts`. */
  readonly hostname?: string;
  readonly sysctls?: Readonly<Record<string, string>>;
  /** Lines for `ip -batch` inside the new network namespace; loopback is up before the first. */
  readonly ipBatch?: readonly string[];
}

export type PinnedNamespaces = Readonly<Partial<Record<NamespaceKind, string>>>;

/**
 * New namespaces that live without a process in them: bind mounts, made and set up by one call of unshare. What an
 * earlier attempt left in the directory is replaced. On failure nothing is left.
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

// /proc/sys shows each reader the values of its own namespaces. Without iproute2 a CNI plugin brings loopback up.
const setUpScript = `set -e
program=$1; shift
while [ $# -gt 0 ]; do printf %s "$2" > "$1"; shift 2; done
if [ "$program" ] && command -v "$program" > /dev/null; then exec "$program" -batch -; fi`;

/** Removes the namespaces pinned in a directory, and the directory. Idempotent. */
export async function unpinNamespaces(directory: string): Promise<void> {
  // A mount may lie on another one, or come while we look, when a daemon was killed in the middle: then once more. A
  // process that comes later still finds no file to mount on.
  for (let round = 1; ; round++) {
    const pinned = await listPinned(directory);
    // A killed daemon's own umount may be quicker. What really stays mounted, rm cannot remove.
    if (pinned.length > 0) await runQuietTool("umount", ["--lazy", ...pinned]).catch(() => {});
    try {
      return await rm(directory, { recursive: true, force: true });
    } catch (error) {
      const mounted = error instanceof Error && "code" in error && error.code === "EBUSY";
      if (!mounted || round === 10) throw error;
    }
  }
}

/** Whether the path is a namespace that something keeps alive there, and not the empty file below it. */
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
