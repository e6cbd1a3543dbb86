import { constants, existsSync } from "node:fs";
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, containerCgroup } from "../../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../../lib/clock.ts";
import { writeFileAtomic } from "../../../lib/fs/write-file-atomic.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import { type Logger, silentLogger } from "../../../lib/logger.ts";
import { runProgram } from "../../../lib/process/run-program.ts";
import { createCommonOperations, specOf } from "../common-operations.ts";
import { containPaths } from "../contain-paths.ts";
import {
  openStateDir,
  type Removal,
  readMade,
  readSpec,
  removeContainer,
  type StateDir,
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
import { commandLine, findProcesses, identify, isAlive } from "../linux/process-info.ts";
import { readOomKills } from "../linux/read-cgroup.ts";
import { hasOwnMonitor, openOutputPumps } from "../monitor/output-pumps.ts";
import { buildOciConfig } from "./build-oci-config.ts";
import { createConmonMonitor } from "./conmon.ts";
import { gatherContainerFacts, gatherMachineFacts } from "./gather-facts.ts";
import { execOci } from "./oci-exec.ts";
import { createPipeMonitor, type OciMonitor } from "./oci-monitor.ts";
import { deleteByRuntime, isPlainRuntime, type OciRuntime, shellFor } from "./probe-oci-runtime.ts";

export interface OciDriverOptions {
  readonly stateDir: string;
  readonly runtime: { readonly name: string; readonly path: string };
  /** Path of conmon. Without it the built-in monitor is used. */
  readonly conmon: string | undefined;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly limitations: readonly string[];
}

const startTimeoutMs = 60_000;

/** Driver that runs containers with an OCI runtime (runc, crun) and a monitor for each. */
export async function createOciDriver(options: OciDriverOptions): Promise<Driver> {
  const { layout, clock, logger = silentLogger } = options;
  const state: StateDir = await openStateDir(options.stateDir);
  const runtime: OciRuntime = { ...options.runtime, root: join(options.stateDir, options.runtime.name) };
  const machine = gatherMachineFacts(layout);
  const exits = createExitWatch(state.exits, { clock, slowPollMs: 5000 });
  const oneAtATime = createKeyedMutex();

  const conmon = createConmonMonitor({ conmon: options.conmon, runtime, exitsDir: state.exits, clock });
  const pipes = createPipeMonitor({ runtime, pumps: await openOutputPumps({ state, clock, logger }) });
  /** Containers keep their monitor, also if conmon was installed or removed meanwhile. */
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
      // A daemon killed in the middle of `start` leaves the pipe, but not runc's init.
      isWaiting: (pid) =>
        existsSync(execFifo(containerId)) && (runtime.name !== "runc" || commandLine(pid).at(-1) === "init"),
      oomKills: () => readOomKills(layout, cgroupOf(spec)),
    });
    // Callers read the log after the exit, so all of it must be there.
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
      ...(spec && !isPlainRuntime(runtime) ? byRuntime(containerId) : {}),
    });
    await monitor.removed(containerId);
  }

  /** Additional steps of a removal where the runtime may keep more state than the driver knows. */
  function byRuntime(containerId: string): Pick<Removal, "helpers" | "afterKill"> {
    return {
      helpers: () => findProcesses(runtime.root, containerId),
      afterKill: () => deleteByRuntime(runtime, containerId, logger),
    };
  }

  async function create(request: ContainerSpec, callOptions?: CallOptions): Promise<void> {
    checkContainerId(request.id);
    const spec = await containPaths(request);
    const files = state.container(spec.id);
    const facts = await gatherContainerFacts(spec, machine);
    const config = buildOciConfig(spec, facts);
    await mkdir(files.dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EEXIST" ? containerExists(spec.id) : error;
    });
    try {
      await writeFileAtomic(files.spec, JSON.stringify(spec));
      await writeFile(join(files.dir, "config.json"), JSON.stringify(config), { mode: 0o600 });
      const { pid, monitorPid } = await (options.conmon ? conmon : pipes).create(
        { spec, files },
        callOptions,
      );
      const [container, monitor] = [identify(pid), identify(monitorPid)];
      if (!container || !monitor) throw new Error("the container's process died at once");
      await writeFileAtomic(files.made, JSON.stringify({ container, monitor, madeAt: clock.now() }));
    } catch (error) {
      await remove(spec.id);
      throw error;
    }
  }

  async function start(containerId: string, { signal }: CallOptions = {}): Promise<void> {
    const now = await stateOf(containerId);
    if (now.kind === "missing") throw containerNotFound(containerId);
    if (now.kind !== "created") throw wrongState(containerId, now.kind, "created");
    await writeFileAtomic(state.container(containerId).startedAt, String(clock.now()));
    const made = await readMade(state.container(containerId));
    const isInitAlive = () => made !== undefined && isAlive(made.container);
    try {
      if (runtime.name === "runc") await releaseInit(execFifo(containerId), { isAlive: isInitAlive, clock });
      else {
        const args = ["--root", runtime.root, "start", containerId];
        await runProgram(runtime.path, args, {
          timeoutMs: startTimeoutMs,
          shell: shellFor(runtime),
          signal,
        });
      }
    } catch (error) {
      throw driverFailed(`starting container ${containerId}`, error);
    }
  }

  return {
    name: "oci",
    limitations: options.limitations,
    create: (spec, callOptions) => oneAtATime.run(spec.id, () => create(spec, callOptions)),
    start: (containerId, callOptions) => oneAtATime.run(containerId, () => start(containerId, callOptions)),
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

/**
 * Does what `runc start` does, without its 20 ms: runc's init waits until its pipe is opened, writes one byte and
 * becomes the container's program; removing the pipe marks it as started.
 */
async function releaseInit(fifo: string, init: { isAlive: () => boolean; clock: Clock }): Promise<void> {
  // A blocking open would wait for a writer, forever if init has just died.
  const pipe = await open(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    for (;;) {
      // Checked before reading: a short program may have exited, and its byte is still in the pipe.
      const alive = init.isAlive();
      if (await hasByte(pipe)) break;
      if (!alive) throw new Error("its process has exited");
      await init.clock.sleep(1);
    }
  } finally {
    await pipe.close();
  }
  await rm(fifo, { force: true });
}

async function hasByte(pipe: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  try {
    return (await pipe.read(Buffer.alloc(1), 0, 1)).bytesRead > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
    throw error;
  }
}
