import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, containerCgroup } from "../../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../../lib/clock.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import { type Logger, silentLogger } from "../../../lib/logger.ts";
import { runProgram } from "../../process/run-program.ts";
import { createCommonOperations, specOf } from "../common-operations.ts";
import { openStateDir, readMade, readSpec, type StateDir, writeWhole } from "../container-files.ts";
import { readContainerState } from "../container-state.ts";
import type { ContainerSpec, ContainerState, Driver } from "../driver.ts";
import {
  checkContainerId,
  containerExists,
  containerNotFound,
  driverFailed,
  wrongState,
} from "../driver-error.ts";
import { createExitWatch } from "../exit-watch.ts";
import { readOomKills } from "../linux/cgroup-usage.ts";
import { commandLine, identify, isAlive } from "../linux/process-info.ts";
import { hasOwnMonitor, openOutputPumps } from "../monitor/output-pumps.ts";
import { removeContainer } from "../remove-container.ts";
import { buildOciConfig } from "./build-oci-config.ts";
import { createConmonMonitor } from "./conmon-monitor.ts";
import { gatherContainerFacts, gatherMachineFacts } from "./gather-facts.ts";
import { execOci } from "./oci-exec.ts";
import type { OciMonitor } from "./oci-monitor.ts";
import type { OciRuntime } from "./oci-runtime.ts";
import { createPipeMonitor } from "./pipe-monitor.ts";
import { releaseInit } from "./release-init.ts";

export interface OciDriverOptions {
  readonly stateDir: string;
  readonly runtime: { readonly name: string; readonly path: string };
  /** Without it a monitor of our own stays with each container. */
  readonly conmon: string | undefined;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly limitations: readonly string[];
}

const startTimeoutMs = 60_000;

/** Containers by an OCI runtime (runc, crun), each watched over by a monitor. */
export async function createOciDriver(options: OciDriverOptions): Promise<Driver> {
  const { layout, clock, logger = silentLogger } = options;
  const state: StateDir = await openStateDir(options.stateDir);
  const runtime: OciRuntime = { ...options.runtime, root: join(options.stateDir, options.runtime.name) };
  const machine = gatherMachineFacts(layout);
  const exits = createExitWatch(state.exits, { clock, slowPollMs: 5000 });
  const oneAtATime = createKeyedMutex();

  const conmon = createConmonMonitor({ conmon: options.conmon, runtime, exitsDir: state.exits, clock });
  const pipes = createPipeMonitor({ runtime, pumps: await openOutputPumps({ state, clock, logger }) });
  /** Containers stay with the monitor they have, also when conmon came or went meanwhile. */
  const monitorOf = (containerId: string): OciMonitor =>
    hasOwnMonitor(state.container(containerId).dir) ? pipes : conmon;

  const cgroupOf = (spec: ContainerSpec) => containerCgroup(spec.cgroupParent, spec.id);
  const execFifo = (containerId: string) => join(runtime.root, containerId, "exec.fifo");

  async function stateOf(containerId: string): Promise<ContainerState> {
    const files = state.container(containerId);
    const spec = await readSpec(files);
    if (!spec) return { kind: "missing" };
    const now = await readContainerState({
      files,
      clock,
      // A daemon killed between the two halves of `start` leaves the pipe behind, but not runc's init.
      isWaiting: (pid) =>
        existsSync(execFifo(containerId)) && (runtime.name !== "runc" || commandLine(pid).at(-1) === "init"),
      oomKills: () => readOomKills(layout, cgroupOf(spec)),
    });
    // Who asks why it ended reads the log next: all of it shall be there.
    if (now.kind === "exited") await monitorOf(containerId).settled(containerId);
    return now;
  }

  async function runningPid(containerId: string): Promise<number> {
    const now = await stateOf(containerId);
    if (now.kind === "missing") throw containerNotFound(containerId);
    if (now.kind !== "running") throw wrongState(containerId, now.kind, "running");
    return now.pid;
  }

  async function remove(containerId: string): Promise<void> {
    checkContainerId(containerId);
    const files = state.container(containerId);
    const spec = await readSpec(files);
    const cgroup = containerCgroup(spec?.cgroupParent ?? "", containerId);
    const monitor = monitorOf(containerId);
    await removeContainer({
      containerId,
      files,
      cgroup,
      layout,
      clock,
      also: [join(runtime.root, containerId)],
    });
    await monitor.removed(containerId);
  }

  async function create(spec: ContainerSpec): Promise<void> {
    checkContainerId(spec.id);
    const files = state.container(spec.id);
    const facts = await gatherContainerFacts(spec, machine);
    const config = buildOciConfig(spec, facts);
    await mkdir(files.dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EEXIST" ? containerExists(spec.id) : error;
    });
    try {
      await writeWhole(files.spec, JSON.stringify(spec));
      await writeFile(join(files.dir, "config.json"), JSON.stringify(config), { mode: 0o600 });
      const { pid, monitorPid } = await (options.conmon ? conmon : pipes).create({ spec, files });
      const [container, monitor] = [identify(pid), identify(monitorPid)];
      if (!container || !monitor) throw new Error("the container's process died at once");
      await writeWhole(files.made, JSON.stringify({ container, monitor, madeAt: clock.now() }));
    } catch (error) {
      await remove(spec.id);
      throw error;
    }
  }

  async function start(containerId: string): Promise<void> {
    const now = await stateOf(containerId);
    if (now.kind === "missing") throw containerNotFound(containerId);
    if (now.kind !== "created") throw wrongState(containerId, now.kind, "created");
    await writeWhole(state.container(containerId).startedAt, String(clock.now()));
    const made = await readMade(state.container(containerId));
    const isInitAlive = () => made !== undefined && isAlive(made.container);
    try {
      if (runtime.name === "runc") await releaseInit(execFifo(containerId), { isAlive: isInitAlive, clock });
      else {
        const args = ["--root", runtime.root, "start", containerId];
        await runProgram(runtime.path, args, { timeoutMs: startTimeoutMs });
      }
    } catch (error) {
      throw driverFailed(`starting container ${containerId}`, error);
    }
  }

  return {
    name: "oci",
    limitations: options.limitations,
    create: (spec) => oneAtATime.run(spec.id, () => create(spec)),
    start: (containerId) => oneAtATime.run(containerId, () => start(containerId)),
    remove: (containerId) => oneAtATime.run(containerId, () => remove(containerId)),
    state: stateOf,
    ...createCommonOperations({ state, stateOf, exits, layout, clock }),
    async close() {
      exits.close();
      await pipes.close();
    },

    async exec(containerId, execOptions) {
      await runningPid(containerId);
      return execOci({
        containerId,
        bundle: state.container(containerId).dir,
        cgroup: cgroupOf(await specOf(state, containerId)),
        runtime,
        layout,
        clock,
        options: execOptions,
      });
    },

    async attach(containerId) {
      const spec = await specOf(state, containerId);
      try {
        return await monitorOf(containerId).attach({ spec, files: state.container(containerId) });
      } catch (error) {
        throw driverFailed(`container ${containerId}`, error);
      }
    },

    async reopenLog(containerId) {
      const spec = await specOf(state, containerId);
      await runningPid(containerId);
      await monitorOf(containerId).reopenLog({ spec, files: state.container(containerId) });
    },
  };
}
