import { existsSync, readFileSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, removeCgroupTree } from "../../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { ExecOptions, ExecProcess } from "../driver.ts";
import { spawnExec } from "../exec-process.ts";
import { withDescendants } from "../linux/process-info.ts";
import { killExec, makeExecCgroup, nextExecName, treeProcesses } from "../linux/read-cgroup.ts";
import { completeEnv } from "./build-oci-config.ts";
import type { OciConfig } from "./oci-config.ts";
import { reapedCommand } from "./perl-reaper.ts";
import { type OciRuntime, runtimeErrorMessage } from "./probe-oci-runtime.ts";

export interface OciExec {
  readonly containerId: string;
  readonly bundle: string;
  readonly cgroup: string;
  readonly runtime: OciRuntime;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  readonly options: ExecOptions;
}

/** Runs a program in the container with the settings of the container's own process, in a cgroup below its own. */
export async function execOci(exec: OciExec): Promise<ExecProcess> {
  const { bundle, containerId, options, clock } = exec;
  const name = nextExecName();
  const processFile = join(bundle, `${name}.json`);
  const pidFile = join(bundle, `${name}.pid`);
  const config = JSON.parse(await readFile(join(bundle, "config.json"), "utf8")) as OciConfig;
  const { terminal } = options;
  const env = completeEnv({ env: config.process.env, terminal });
  const inside = { ...config.process, args: options.args, env, terminal };
  await writeFile(processFile, JSON.stringify(inside), { mode: 0o600 });
  const group = exec.runtime.name === "runc" ? makeExecCgroup(exec.layout, exec.cgroup, name) : undefined;

  let started = false;
  const hasStarted = () => {
    started ||= existsSync(pidFile);
    return started;
  };
  const words = (mode: string) => [
    ...[
      exec.runtime.path,
      "--root",
      exec.runtime.root,
      "exec",
      "--process",
      processFile,
      "--pid-file",
      pidFile,
    ],
    ...(group ? ["--cgroup", group.argument] : []),
    ...[mode, containerId].filter(Boolean),
  ];
  const reaped = options.terminal ? undefined : reapedCommand(words("--detach"), { pidFile });
  const [command = "", ...args] = reaped ?? words(options.terminal ? "--tty" : "");
  return spawnExec({
    command,
    args,
    options,
    // runc has its own terminal inside.
    echo: "never",
    hasStarted,
    explain: runtimeErrorMessage,
    killInside: async (pid) => {
      // Includes the runtime's own processes: killed while starting, it would leave a partly started process.
      const processes = () => [
        ...withDescendants([pid, ...insidePid(pidFile)]),
        ...(group ? treeProcesses(group.dir) : []),
      ];
      await killExec({ outermost: pid, processes, clock });
    },
    onEnd: () => {
      hasStarted();
      rmSync(processFile, { force: true });
      rmSync(pidFile, { force: true });
      // The cgroup stays while a process that the program left runs in it; `remove` deletes it then.
      if (group) removeCgroupTree(group.dir);
    },
  });
}

function insidePid(pidFile: string): number[] {
  try {
    return [Number(readFileSync(pidFile, "utf8"))].filter((pid) => pid > 0);
  } catch {
    return [];
  }
}
