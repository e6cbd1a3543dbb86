import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { runProgram } from "../../process/run-program.ts";
import type { ContainerFiles, MadeRecord } from "../container-files.ts";
import type { ContainerSpec } from "../driver.ts";
import { commandLine, identify, withDescendants } from "../linux/process-info.ts";
import { withoutInheritedFiles } from "./close-inherited.ts";
import { monitorScript } from "./monitor-script.ts";

export interface HostLaunch {
  readonly spec: ContainerSpec;
  readonly files: ContainerFiles;
  readonly initScript: string;
  readonly launchScript: string;
  readonly daemonPidFile: string;
  readonly now: number;
}

export function initScriptPath(files: ContainerFiles): string {
  return join(files.dir, "init.sh");
}

export function complaintsPath(files: ContainerFiles): string {
  return join(files.dir, "setup.log");
}

/** Starts the monitor; resolves when the container's first process has everything and waits to be told to go on. */
export async function launchContainer(launch: HostLaunch): Promise<MadeRecord> {
  const { spec, files } = launch;
  await mkdir(join(files.dir, "root"));
  await writeFile(initScriptPath(files), launch.initScript, { mode: 0o600 });
  await writeFile(join(files.dir, "launch.sh"), launch.launchScript, { mode: 0o600 });
  await writeFile(complaintsPath(files), "");
  const pipes = ["start", "out", "err", ...(spec.stdin || spec.terminal ? ["stdin"] : [])];
  await runProgram("mkfifo", ["-m", "600", ...pipes.map((name) => join(files.dir, name))]);
  // Programs open /dev/stdout anew, as their own user.
  for (const name of ["out", "err"]) chownSync(join(files.dir, name), spec.user.uid, spec.user.gid);

  const [command, ...args] = withoutInheritedFiles([
    ...["sh", "-c", monitorScript, "kindling-monitor", files.dir, files.exit, launch.daemonPidFile],
    ...(spec.terminal ? ["terminal"] : []),
  ]);
  const monitor = spawn(command, args, {
    cwd: "/",
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "ignore", "pipe"],
  });
  const failed = once(monitor, "error").then(([error]) => Promise.reject(error));
  const ready = monitor.stdio[4] as Readable;
  await Promise.race([once(ready, "data"), once(ready, "close"), failed]);
  ready.destroy();
  monitor.unref();

  const inside = withDescendants([monitor.pid ?? 0]).find(
    (pid) => commandLine(pid)[1] === initScriptPath(files),
  );
  const [container, watching] = [identify(inside ?? 0), identify(monitor.pid ?? 0)];
  const complaints = (await readFile(complaintsPath(files), "utf8")).trim();
  if (!container || !watching) throw new Error(complaints || "its first process died at once");
  return { container, monitor: watching, madeAt: launch.now };
}
