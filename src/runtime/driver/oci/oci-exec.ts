import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import type { ExecOptions, ExecProcess } from "../driver.ts";
import { spawnExec } from "../exec-process.ts";
import { type CgroupLayout, controllerDir } from "../linux/cgroup-layout.ts";
import { killTree, removeTree, treeProcesses } from "../linux/cgroup-tree.ts";
import { withDescendants } from "../linux/process-info.ts";
import type { OciRuntime } from "./find-oci-runtime.ts";
import type { OciConfig } from "./oci-config.ts";

export interface OciExec {
  readonly containerId: string;
  readonly bundle: string;
  readonly cgroup: string;
  readonly runtime: OciRuntime;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  readonly options: ExecOptions;
}

let lastExec = 0;

/** Runs a program in the container with everything the container's own process has, in a cgroup below its own. */
export async function execOci(exec: OciExec): Promise<ExecProcess> {
  const { bundle, containerId, options, clock } = exec;
  const name = `exec-${process.pid}-${++lastExec}`;
  const processFile = join(bundle, `${name}.json`);
  const pidFile = join(bundle, `${name}.pid`);
  const config = JSON.parse(await readFile(join(bundle, "config.json"), "utf8")) as OciConfig;
  const inside = { ...config.process, args: options.args, terminal: options.terminal };
  await writeFile(processFile, JSON.stringify(inside), { mode: 0o600 });
  const group = makeExecCgroup(exec, name);

  let started = false;
  const hasStarted = () => {
    started ||= existsSync(pidFile);
    return started;
  };
  return spawnExec({
    command: exec.runtime.path,
    args: [
      ...["--root", exec.runtime.root, "exec", "--process", processFile, "--pid-file", pidFile],
      ...(group ? ["--cgroup", group.argument] : []),
      ...(options.terminal ? ["--tty"] : []),
      containerId,
    ],
    options,
    hasStarted,
    killInside: async (pid) => {
      // The runtime's own processes too: killed in the middle of starting, it would leave half a process.
      const processes = () => [
        ...withDescendants([pid, ...insidePid(pidFile)]).filter((each) => existsSync(`/proc/${each}/root`)),
        ...(group ? treeProcesses(group.dir) : []),
      ];
      await killTree(() => processes().filter(isRunning), clock);
    },
    onEnd: () => {
      hasStarted();
      rmSync(processFile, { force: true });
      rmSync(pidFile, { force: true });
      // It stays while something that the program left behind runs in it; `remove` clears it then.
      if (group) removeTree(group.dir);
    },
  });
}

/** One directory is enough to find the processes by: with v1 in the hierarchy that limits nothing. */
function makeExecCgroup(exec: OciExec, name: string): { dir: string; argument: string } | undefined {
  if (exec.runtime.name !== "runc") return undefined;
  const parent = controllerDir(exec.layout, "freezer", exec.cgroup);
  if (!parent) return undefined;
  const dir = join(parent, name);
  try {
    mkdirSync(dir);
    return { dir, argument: exec.layout.kind === "v2" ? name : `freezer:${name}` };
  } catch {
    return undefined;
  }
}

function insidePid(pidFile: string): number[] {
  try {
    return [Number(readFileSync(pidFile, "utf8"))].filter((pid) => pid > 0);
  } catch {
    return [];
  }
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
