import { constants, existsSync } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, containerCgroup } from "../../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../../lib/clock.ts";
import { writeFileAtomic } from "../../../lib/fs/write-file-atomic.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import { type Logger, silentLogger } from "../../../lib/logger.ts";
import { createCommonOperations, specOf } from "../common-operations.ts";
import { containPaths } from "../contain-paths.ts";
import {
  type ContainerFiles,
  type MadeRecord,
  openStateDir,
  readMade,
  readSpec,
  removeContainer,
} from "../container-files.ts";
import { createExitWatch, readContainerState } from "../container-state.ts";
import {
  type CallOptions,
  type ContainerSpec,
  type ContainerState,
  checkContainerId,
  containerExists,
  containerNotFound,
  type Driver,
  driverFailed,
  wrongState,
} from "../driver.ts";
import { createTerminalSizer } from "../exec-process.ts";
import { makeCgroup } from "../linux/cgroup-writes.ts";
import { commandLine, findProcesses, identify, isAlive, withDescendants } from "../linux/process-info.ts";
import { readOomKills } from "../linux/read-cgroup.ts";
import { controlPath, launchMonitor, type MonitorLaunch, setupLogPath } from "../monitor/launch-monitor.ts";
import { openOutputPumps, outputWaitsForDaemon } from "../monitor/output-pumps.ts";
import { attachToPipes } from "../monitor/pipe-attach.ts";
import { gatherContainerFacts, gatherMachineFacts } from "../oci/gather-facts.ts";
import { buildInitScript, buildLaunchScript } from "./build-init-script.ts";
import { checkProgram, execHost } from "./host-exec.ts";
import { checkPrograms, openTools, prepareDev } from "./host-tools.ts";
import { planHostMounts } from "./plan-host-mounts.ts";

export interface HostDriverOptions {
  readonly stateDir: string;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/** Driver that uses only util-linux: namespaces, a changed root, cgroups, and a shell as monitor of each container. */
export async function createHostDriver(options: HostDriverOptions): Promise<Driver> {
  const { layout, clock, logger = silentLogger } = options;
  checkPrograms();
  const state = await openStateDir(options.stateDir);
  const devDir = join(options.stateDir, "dev");
  const machine = gatherMachineFacts(layout);
  const exits = createExitWatch(state.exits, { clock, slowPollMs: 5000 });
  const oneAtATime = createKeyedMutex();
  const toolsDir = await openTools(options.stateDir, { inUse: (await state.list()).length > 0 });
  if (!existsSync(devDir)) await prepareDev(devDir);
  const pumps = await openOutputPumps({ state, clock, logger });

  const cgroupOf = (spec: ContainerSpec) => containerCgroup(spec.cgroupParent, spec.id);

  async function stateOf(containerId: string): Promise<ContainerState> {
    const files = state.container(containerId);
    const spec = await readSpec(files);
    if (!spec) return { kind: "missing" };
    const now = await readContainerState({
      files,
      clock,
      isWaiting: (pid) => commandLine(pid)[1] === initScriptPath(files),
      oomKills: () => readOomKills(layout, cgroupOf(spec)),
    });
    // Callers read the log after the exit, so all of it must be there.
    if (now.kind === "exited") await pumps.settled(containerId);
    return now;
  }

  async function remove(containerId: string): Promise<void> {
    checkContainerId(containerId);
    const files = state.container(containerId);
    const spec = await readSpec(files);
    const cgroup = containerCgroup(spec?.cgroupParent ?? "", containerId);
    await removeContainer({ containerId, files, cgroup, layout, clock, also: [] });
    await pumps.drop(containerId);
  }

  async function create(request: ContainerSpec, { signal }: CallOptions = {}): Promise<void> {
    checkContainerId(request.id);
    const spec = await containPaths(request);
    checkProgram(spec, spec.args);
    const files = state.container(spec.id);
    const facts = await gatherContainerFacts(spec, machine);
    await mkdir(files.dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EEXIST" ? containerExists(spec.id) : error;
    });
    try {
      await writeFileAtomic(files.spec, JSON.stringify(spec));
      const mounts = planHostMounts(spec);
      const cgroupDirs = layout.kind === "none" ? [] : await makeCgroup(layout, cgroupOf(spec), spec);
      const root = join(files.dir, "root");
      const made = await launchContainer({
        spec,
        files,
        initScript: buildInitScript({ spec, facts, mounts, root, toolsDir, devDir, cgroupDirs }),
        launchScript: buildLaunchScript(spec, {
          init: initScriptPath(files),
          complaints: setupLogPath(files),
        }),
        daemonPidFile: pumps.daemonPidFile,
        now: clock.now(),
        signal,
      });
      await pumps.start(spec);
      await writeFileAtomic(files.made, JSON.stringify(made));
    } catch (error) {
      await remove(spec.id);
      throw error instanceof Error && error.name === "DriverError"
        ? error
        : driverFailed(`creating container ${spec.id}`, error);
    }
  }

  async function start(containerId: string): Promise<void> {
    const now = await stateOf(containerId);
    if (now.kind === "missing") throw containerNotFound(containerId);
    if (now.kind !== "created") throw wrongState(containerId, now.kind, "created");
    const files = state.container(containerId);
    const made = await readMade(files);
    await writeFileAtomic(files.startedAt, String(clock.now()));
    const pipe = await open(controlPath(files), constants.O_WRONLY | constants.O_NONBLOCK);
    await pipe.write("go\n").finally(() => pipe.close());
    // Until the shell has become the program, the container would still appear as created.
    while (made && isAlive(made.container) && commandLine(made.container.pid)[1] === initScriptPath(files)) {
      await clock.sleep(1);
    }
  }

  return {
    name: "host",
    limitations: hostLimitations(layout),
    create: (spec, options) => oneAtATime.run(spec.id, () => create(spec, options)),
    start: (containerId) => oneAtATime.run(containerId, () => start(containerId)),
    remove: (containerId) => oneAtATime.run(containerId, () => remove(containerId)),
    state: stateOf,
    ...createCommonOperations({ state, stateOf, exits, layout, clock }),

    async exec(containerId, execOptions) {
      const now = await stateOf(containerId);
      if (now.kind === "missing") throw containerNotFound(containerId);
      if (now.kind !== "running") throw wrongState(containerId, now.kind, "running");
      const spec = await specOf(state, containerId);
      const cgroup = cgroupOf(spec);
      return execHost({ spec, pid: now.pid, cgroup, layout, facts: machine, clock, options: execOptions });
    },

    async attach(containerId) {
      const spec = await specOf(state, containerId);
      const pump = pumps.find(containerId);
      const now = await stateOf(containerId);
      if (!pump || now.kind === "exited") throw wrongState(containerId, now.kind, "running");
      const { dir } = state.container(containerId);
      const findScript = () => findProcesses(`exec sh '${dir}/launch.sh'`)[0];
      const resizer = (ended: AbortSignal) => createTerminalSizer({ findScript, ended });
      return attachToPipes({ dir, spec, pump, resizer });
    },

    async reopenLog(containerId) {
      await specOf(state, containerId);
      await pumps.find(containerId)?.reopenLog();
    },

    async close() {
      exits.close();
      await pumps.close();
    },
  };
}

function hostLimitations(layout: CgroupLayout): string[] {
  return [
    "No seccomp filter: util-linux cannot install one.",
    "No AppArmor profiles.",
    outputWaitsForDaemon,
    ...(layout.kind === "v2" ? ["Devices are restricted by their absence only, not by the cgroup."] : []),
    ...(layout.kind === "none" ? ["No cgroups: no limits and no usage figures."] : []),
  ];
}

interface HostLaunch extends Omit<MonitorLaunch, "terminalBy"> {
  readonly initScript: string;
  readonly now: number;
}

function initScriptPath(files: ContainerFiles): string {
  return join(files.dir, "init.sh");
}

/** Starts the monitor. Resolves when the container's first process is set up and waits to continue. */
async function launchContainer(launch: HostLaunch): Promise<MadeRecord> {
  const { files } = launch;
  await mkdir(join(files.dir, "root"));
  await writeFile(initScriptPath(files), launch.initScript, { mode: 0o600 });
  const { monitorPid } = await launchMonitor({ ...launch, terminalBy: "script" });
  const inside = withDescendants([monitorPid]).find((pid) => commandLine(pid)[1] === initScriptPath(files));
  const [container, monitor] = [identify(inside ?? 0), identify(monitorPid)];
  const complaints = (await readFile(setupLogPath(files), "utf8")).trim();
  if (!container || !monitor) throw new Error(complaints || "its first process died at once");
  return { container, monitor, madeAt: launch.now };
}
