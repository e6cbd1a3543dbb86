import { constants } from "node:os";
import { type CgroupLayout, containerCgroup } from "../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../lib/clock.ts";
import { readMade, readSpec, type StateDir } from "./container-files.ts";
import type { ExitWatch } from "./container-state.ts";
import {
  type ContainerSpec,
  type ContainerState,
  containerNotFound,
  type Driver,
  DriverError,
  driverFailed,
} from "./driver.ts";
import { applyCgroupWrites, planCgroupWrites } from "./linux/cgroup-writes.ts";
import { sendSignal, stillRunning } from "./linux/process-info.ts";
import { cgroupProcesses, killTree, readUsage } from "./linux/read-cgroup.ts";

export interface CommonParts {
  readonly state: StateDir;
  readonly stateOf: (containerId: string) => Promise<ContainerState>;
  readonly exits: ExitWatch;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
}

const SIGKILL = 9;

/** Operations that use only files, the process table and cgroups, and are the same for every driver. */
export function createCommonOperations(
  parts: CommonParts,
): Pick<Driver, "wait" | "kill" | "updateResources" | "stats" | "list"> {
  const { state, stateOf, exits, layout, clock } = parts;
  const cgroupOf = ({ cgroupParent, id }: ContainerSpec) => containerCgroup(cgroupParent, id);

  return {
    list: () => state.list(),

    wait: (containerId, signal) =>
      exits.until(
        containerId,
        async () => {
          const now = await stateOf(containerId).catch(ignoreTransient);
          if (now?.kind === "missing") throw containerNotFound(containerId);
          return now?.kind === "exited" ? now : undefined;
        },
        signal,
      ),

    async kill(containerId, signalName) {
      const signal = signalNumber(signalName);
      const spec = await specOf(state, containerId);
      const now = await stateOf(containerId);
      if (now.kind === "exited" || now.kind === "missing") return;
      const made = await readMade(state.container(containerId));
      if (made) sendSignal(made.container.pid, signal);
      // With its own PID namespace the kernel kills the other processes with the first one.
      if (signal === SIGKILL && spec.namespaces.pid !== "new") {
        await killTree(() => stillRunning(cgroupProcesses(layout, cgroupOf(spec))), clock);
      }
    },

    async updateResources(containerId, resources) {
      const cgroup = cgroupOf(await specOf(state, containerId));
      const refused = await applyCgroupWrites(layout, cgroup, planCgroupWrites(layout.kind, resources));
      if (refused.length > 0) throw driverFailed(`limits of container ${containerId}`, refused.join("; "));
    },

    stats: async (containerId) => readUsage(layout, cgroupOf(await specOf(state, containerId))),
  };
}

/** Ignores errors that may be transient, such as a lack of file descriptors or disk space. */
function ignoreTransient(error: unknown): undefined {
  if (error instanceof DriverError) throw error;
}

export async function specOf(state: StateDir, containerId: string): Promise<ContainerSpec> {
  const spec = await readSpec(state.container(containerId));
  if (!spec) throw containerNotFound(containerId);
  return spec;
}

/** First real-time signal; glibc reserves the kernel's first two. Node has no names for real-time signals. */
const firstRealTime = 34;
const lastRealTime = 64;

/** Parses "SIGTERM", "term", "15", "SIGRTMIN+3" and "RTMAX-1", as used in images. */
export function signalNumber(name: string): number {
  const upper = name.trim().toUpperCase();
  const number = /^\d+$/.test(upper) ? Number(upper) : named(upper.startsWith("SIG") ? upper : `SIG${upper}`);
  if (number === undefined || number < 1 || number > lastRealTime) {
    throw new DriverError("invalid", `"${name}" is not a signal`);
  }
  return number;
}

function named(name: string): number | undefined {
  const known: Record<string, number> = constants.signals;
  const realTime = /^SIGRT(MIN|MAX)(?:([+-])(\d+))?$/.exec(name);
  if (!realTime) return known[name];
  const offset = Number(realTime[3] ?? 0) * (realTime[2] === "-" ? -1 : 1);
  return (realTime[1] === "MIN" ? firstRealTime : lastRealTime) + offset;
}
