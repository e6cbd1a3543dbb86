import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { stoppable } from "../../lib/stoppable.ts";
import { commandLine } from "../../runtime/drivers/linux/process-info.ts";

/** Finds the process that listens on a TCP port: `node (pid 12: node server.js)`. Undefined if /proc does not show it. */
export async function findPortHolder(port: number): Promise<string | undefined> {
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFile(path, "utf8").catch(() => "")),
  );
  const inodes = new Set(tables.flatMap((table) => listeningInodes(table, port)));
  if (inodes.size === 0) return undefined;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    if (await holdsSocket(pid, inodes)) return describe(Number(pid));
  }
  return undefined;
}

/** Exported for tests. */
export function listeningInodes(table: string, port: number): string[] {
  const listening = "0A";
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === listening && local?.endsWith(`:${hexPort}`))
    .flatMap((fields) => fields[9] ?? []);
}

async function holdsSocket(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  // Descriptors of other users' processes are not readable.
  const handles: readonly string[] = await readdir(folder).catch(() => []);
  for (const handle of handles) {
    const target = await readlink(`${folder}/${handle}`).catch(() => "");
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode && inodes.has(inode)) return true;
  }
  return false;
}

const longestCommand = 80;

function describe(pid: number): string {
  const command = commandLine(pid).join(" ");
  const shown = command.length > longestCommand ? `${command.slice(0, longestCommand)}…` : command;
  return `pid ${pid}${shown ? ` (${shown})` : ""}`;
}

/** Reserves a port; connections are closed immediately. Returns a function that releases it. */
export async function reservePort(address: {
  readonly host: string;
  readonly port: number;
}): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy());
  const release = stoppable(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, resolve);
  });
  return release;
}
