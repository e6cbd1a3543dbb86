import { type CgroupLayout, containerCgroup } from "../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../lib/clock.ts";
import { readMade, readSpec, type StateDir } from "./container-files.ts";
import type { ContainerSpec, ContainerState, Driver } from "./driver.ts";
import { containerNotFound, DriverError, driverFailed } from "./driver-error.ts";
import type { ExitWatch } from "./exit-watch.ts";
import { cgroupProcesses, killTree } from "./linux/cgroup-tree.ts";
import { readUsage } from "./linux/cgroup-usage.ts";
import { applyCgroupWrites, planCgroupWrites } from "./linux/cgroup-writes.ts";
import { sendSignal, stillRunning } from "./linux/process-info.ts";
import { signalNumber } from "./signal-number.ts";

export interface CommonParts {
  readonly state: StateDir;
  readonly stateOf: (containerId: string) => Promise<ContainerState>;
  readonly exits: ExitWatch;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
}

const SIGKILL = 9;

/** What needs nothing but the files, the process table and the cgroups: the same for every driver. */
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
          const now = await stateOf(containerId).catch(askAgain);
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
      // With a PID namespace of its own the kernel ends the rest with the first process.
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

/** What the machine lacks just now, files or room on the disk, it may have again when the container ends. */
function askAgain(error: unknown): undefined {
  if (error instanceof DriverError) throw error;
}

export async function specOf(state: StateDir, containerId: string): Promise<ContainerSpec> {
  const spec = await readSpec(state.container(containerId));
  if (!spec) throw containerNotFound(containerId);
  return spec;
}
