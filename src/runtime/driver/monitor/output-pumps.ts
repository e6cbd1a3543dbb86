import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { readMade, readSpec, type StateDir } from "../container-files.ts";
import type { ContainerSpec } from "../driver.ts";
import { isAlive } from "../linux/process-info.ts";
import { collectLastOutput, type OutputPump, type OutputSource, startOutputPump } from "./output-pump.ts";

/** The pumps of all of a driver's containers whose monitor is our own. */
export interface OutputPumps {
  /** Names the daemon that reads the pipes; monitors look there when their container has ended. */
  readonly daemonPidFile: string;
  start(spec: ContainerSpec): Promise<void>;
  find(containerId: string): OutputPump | undefined;
  /** When all that an ended container has said is in its log; soon in any case. */
  settled(containerId: string): Promise<void>;
  drop(containerId: string): Promise<void>;
  close(): Promise<void>;
}

/** What a driver with such monitors says of itself. */
export const outputWaitsForDaemon =
  "While the daemon is down, a container that has written 64 KiB of output waits for it to come back.";

const lastOutputMs = 1000;

/** Goes on with the output of containers that an earlier daemon started. */
export async function openOutputPumps({
  state,
  clock,
  logger,
}: {
  state: StateDir;
  clock: Clock;
  logger: Logger;
}): Promise<OutputPumps> {
  const daemonPidFile = join(state.root, "daemon.pid");
  const pumps = new Map<string, OutputPump>();
  const source = ({ id, logPath }: ContainerSpec): OutputSource => ({
    dir: state.container(id).dir,
    logPath,
    clock,
    onLoss: (error) => logger.warn("output of a container is lost", { container: id, logPath, error }),
  });
  for (const containerId of await state.list())
    await adopt(containerId).catch((error) =>
      logger.warn("cannot go on with the output of a container", { container: containerId, error }),
    );
  // From here on the monitors leave the last output to us.
  await writeFile(daemonPidFile, String(process.pid));

  async function adopt(containerId: string): Promise<void> {
    const files = state.container(containerId);
    const [spec, made] = [await readSpec(files), await readMade(files)];
    if (!spec || !made || !hasOwnMonitor(files.dir)) return;
    if (isAlive(made.monitor)) pumps.set(containerId, await goOn(source(spec)));
    else await collectLastOutput(source(spec));
  }

  /** Without its log where that cannot be opened: a container whose output nobody takes stands still. */
  function goOn(from: OutputSource): Promise<OutputPump> {
    return startOutputPump(from).catch((error) => {
      from.onLoss(error);
      return startOutputPump({ ...from, logPath: "" });
    });
  }

  return {
    daemonPidFile,
    async start(spec) {
      pumps.set(spec.id, await startOutputPump(source(spec)));
    },
    find: (containerId) => pumps.get(containerId),
    async settled(containerId) {
      await Promise.race([pumps.get(containerId)?.ended, clock.sleep(lastOutputMs)]);
    },
    async drop(containerId) {
      await pumps.get(containerId)?.close();
      pumps.delete(containerId);
    },
    async close() {
      await rm(daemonPidFile, { force: true });
      await Promise.all([...pumps.values()].map((pump) => pump.close()));
      pumps.clear();
    },
  };
}

/** conmon has no such pipe. */
export function hasOwnMonitor(containerDir: string): boolean {
  return existsSync(join(containerDir, "out"));
}
