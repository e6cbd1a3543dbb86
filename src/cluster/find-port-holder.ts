import { readdir, readFile, readlink } from "node:fs/promises";
import { commandLine } from "../runtime/driver/linux/process-info.ts";

/** Who listens on a TCP port of this machine: `node (pid 12: node server.js)`. Undefined where /proc does not tell. */
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

/** Exported for its test. */
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
  // Processes of other users keep theirs to themselves.
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
