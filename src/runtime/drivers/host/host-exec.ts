import { type CgroupLayout, cgroupDirs, removeCgroupTree } from "../../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../../lib/clock.ts";
import { quoteShell } from "../../../lib/process/run-program.ts";
import { type ContainerSpec, DriverError, type ExecOptions, type ExecProcess } from "../driver.ts";
import { spawnExec } from "../exec-process.ts";
import { withDescendants } from "../linux/process-info.ts";
import { killExec, makeExecCgroup, nextExecName, treeProcesses } from "../linux/read-cgroup.ts";
import { withoutInheritedFiles } from "../monitor/launch-monitor.ts";
import { completeEnv } from "../oci/build-oci-config.ts";
import type { MachineFacts } from "../oci/gather-facts.ts";
import { insideCommand } from "./build-init-script.ts";
import { findInContainer } from "./plan-host-mounts.ts";

export interface HostExec {
  readonly spec: ContainerSpec;
  readonly pid: number;
  readonly cgroup: string;
  readonly layout: CgroupLayout;
  readonly facts: MachineFacts;
  readonly clock: Clock;
  readonly options: ExecOptions;
}

/** Runs a program in the namespaces, root and cgroup of a container's process. */
export function execHost(exec: HostExec): ExecProcess {
  const { spec, pid, layout, cgroup, options, clock } = exec;
  checkProgram(spec, options.args);
  const group = makeExecCgroup(layout, cgroup, nextExecName());
  const dirs = cgroupDirs(layout, cgroup).map((dir) => (group?.dir.startsWith(`${dir}/`) ? group.dir : dir));
  const words = [
    ...["nsenter", `--target=${pid}`, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--"],
    ...insideCommand({ ...spec, terminal: options.terminal }, exec.facts, options.args),
  ];
  const script = [
    ...dirs.map((dir) => `echo 0 > ${quoteShell(`${dir}/cgroup.procs`)}`),
    "export LC_ALL=C",
    `exec ${words.map(quoteShell).join(" ")}`,
  ];
  const [command, ...args] = withoutInheritedFiles(["sh", "-c", script.join("\n")]);
  return spawnExec({
    command,
    args,
    options,
    echo: "always",
    hasStarted: () => true,
    explain: (output) => output.trim(),
    killInside: async (shell) => {
      const processes = () => [...withDescendants([shell]), ...(group ? treeProcesses(group.dir) : [])];
      await killExec({ outermost: shell, processes, clock });
    },
    onEnd: () => {
      if (group) removeCgroupTree(group.dir);
    },
  });
}

/** Checks that the program exists: inside, a missing program would only show in the exit code. */
export function checkProgram(spec: ContainerSpec, args: readonly string[]): void {
  const program = args[0];
  if (!program) throw new DriverError("invalid", "no program to run");
  const path =
    completeEnv(spec)
      .findLast((entry) => entry.startsWith("PATH="))
      ?.slice("PATH=".length) ?? "";
  if (findInContainer(spec, program, path)) return;
  const where = program.includes("/") ? "no such file or directory" : "executable file not found in $PATH";
  throw new DriverError("failed", `exec: "${program}": ${where}`);
}
