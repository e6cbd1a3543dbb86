import { readdirSync, readFileSync } from "node:fs";

interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/**
 * Memory of a runtime's processes in bytes: those with the text in their command line and their descendants, without the programs
 * of containers. Shared pages are counted proportionally (PSS).
 */
export function runtimeMemory(text: string, containerProgram: string): number {
  const processes = listProcesses();
  const ours = new Set(processes.filter(({ command }) => command.includes(text)).map(({ pid }) => pid));
  for (let grown = true; grown; ) {
    grown = false;
    for (const { pid, parent } of processes) {
      if (ours.has(parent) && !ours.has(pid)) {
        ours.add(pid);
        grown = true;
      }
    }
  }
  return processes
    .filter(({ pid, command }) => ours.has(pid) && !command.startsWith(containerProgram))
    .reduce((sum, { pid }) => sum + proportionalBytes(pid), 0);
}

function listProcesses(): ProcessInfo[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        // The name in parentheses may contain anything; the parent is the second field after it.
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        return pid === process.pid ? [] : [{ pid, parent, command }];
      } catch {
        return [];
      }
    });
}

function proportionalBytes(pid: number): number {
  try {
    return 1_024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
