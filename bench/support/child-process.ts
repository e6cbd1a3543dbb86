import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** Resource usage of a process, read from /proc. */
export interface ProcessCost {
  residentMegabytes(): number;
  /** CPU time used so far in user and kernel mode. */
  cpuSeconds(): number;
}

export interface MeasuredProcess extends ProcessCost {
  readonly pid: number;
  stop(): Promise<void>;
}

export function startProcess(command: readonly string[], env = process.env): MeasuredProcess {
  const [program = "", ...args] = command;
  const child: ChildProcess = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"], env });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${program} failed to start`);
  return {
    pid,
    ...costOf(pid),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    },
  };
}

export function costOf(pid: number): ProcessCost {
  return {
    residentMegabytes: () => Number(/VmRSS:\s+(\d+)/.exec(read(pid, "status"))?.[1]) / 1_024,
    cpuSeconds() {
      // The name in parentheses may contain anything; the times are the 12th and 13th field after it.
      const stat = read(pid, "stat");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
    },
  };
}

/** USER_HZ, which is the same on every architecture. */
const clockTicksPerSecond = 100;

function read(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, "utf8");
}
