import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { runProgram } from "../../process/run-program.ts";
import type { ContainerFiles } from "../container-files.ts";
import type { ContainerSpec } from "../driver.ts";
import { withoutInheritedFiles } from "./close-inherited.ts";
import { monitorScript } from "./monitor-script.ts";

export interface MonitorLaunch {
  readonly spec: ContainerSpec;
  readonly files: ContainerFiles;
  /** Becomes the container, or waits for it and ends as it does. */
  readonly launchScript: string;
  readonly daemonPidFile: string;
  /** Who makes the terminal of a container that has one. */
  readonly terminalBy: "script" | "launch";
}

/** A runtime that waits for a file system that does not answer must not hold its pod up for ever. */
const makingTimeoutMs = 120_000;

/** What the making of the container has to say against itself. */
export function complaintsPath(files: ContainerFiles): string {
  return join(files.dir, "setup.log");
}

/** Says something to the launch script, on its descriptor 3. */
export function controlPath(files: ContainerFiles): string {
  return join(files.dir, "control");
}

/** Starts the monitor; resolves when the container is ready to start, with what was said then, or has failed: nothing. */
export async function launchMonitor(launch: MonitorLaunch): Promise<{ monitorPid: number; said: string }> {
  const { spec, files } = launch;
  await writeFile(join(files.dir, "launch.sh"), launch.launchScript, { mode: 0o600 });
  await writeFile(complaintsPath(files), "");
  const pipes = ["control", "out", "err", ...(spec.stdin || spec.terminal ? ["stdin"] : [])];
  await runProgram("mkfifo", ["-m", "600", ...pipes.map((name) => join(files.dir, name))]);
  // Programs open /dev/stdout anew, as their own user.
  for (const name of ["out", "err"]) chownSync(join(files.dir, name), spec.user.uid, spec.user.gid);

  const [command, ...args] = withoutInheritedFiles([
    ...["sh", "-c", monitorScript, "kindling-monitor", files.dir, files.exit, launch.daemonPidFile],
    ...(spec.terminal ? [launch.terminalBy] : []),
  ]);
  const monitor = spawn(command, args, {
    cwd: "/",
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "ignore", "pipe"],
  });
  const failed = once(monitor, "error").then(([error]) => Promise.reject(error));
  const ready = monitor.stdio[4] as Readable;
  let said = "";
  ready.once("data", (chunk) => {
    said = String(chunk).trim();
  });
  const late = AbortSignal.timeout(makingTimeoutMs);
  const heard = ["data", "close"].map((event) => once(ready, event, { signal: late }));
  await Promise.race([...heard, failed]).catch((error) => {
    throw late.aborted ? new Error(`it was not made within ${makingTimeoutMs / 1000} s`) : error;
  });
  ready.destroy();
  monitor.unref();
  return { monitorPid: monitor.pid ?? 0, said };
}
