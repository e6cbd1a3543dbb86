import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerFiles, MadeRecord } from "../container-files.ts";
import { commandLine, identify, withDescendants } from "../linux/process-info.ts";
import { complaintsPath, launchMonitor, type MonitorLaunch } from "../monitor/launch-monitor.ts";

export interface HostLaunch extends Omit<MonitorLaunch, "terminalBy"> {
  readonly initScript: string;
  readonly now: number;
}

export function initScriptPath(files: ContainerFiles): string {
  return join(files.dir, "init.sh");
}

/** Starts the monitor; resolves when the container's first process has everything and waits to be told to go on. */
export async function launchContainer(launch: HostLaunch): Promise<MadeRecord> {
  const { files } = launch;
  await mkdir(join(files.dir, "root"));
  await writeFile(initScriptPath(files), launch.initScript, { mode: 0o600 });
  const { monitorPid } = await launchMonitor({ ...launch, terminalBy: "script" });
  const inside = withDescendants([monitorPid]).find((pid) => commandLine(pid)[1] === initScriptPath(files));
  const [container, monitor] = [identify(inside ?? 0), identify(monitorPid)];
  const complaints = (await readFile(complaintsPath(files), "utf8")).trim();
  if (!container || !monitor) throw new Error(complaints || "its first process died at once");
  return { container, monitor, madeAt: launch.now };
}
