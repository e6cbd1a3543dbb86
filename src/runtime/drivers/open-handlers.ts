import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { detectCgroupLayout } from "../../lib/cgroup/cgroup-layout.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type Driver, DriverError } from "./driver.ts";
import { findProgram } from "./find-program.ts";
import { createHostDriver } from "./host/host-driver.ts";
import { outputWaitsForDaemon } from "./monitor/output-pumps.ts";
import { createOciDriver } from "./oci/oci-driver.ts";
import { findReaper } from "./oci/perl-reaper.ts";
import { probeOciRuntime } from "./oci/probe-oci-runtime.ts";

/** Handler that a RuntimeClass can name. */
export type Handler =
  | { readonly kind: "works"; readonly name: string; readonly driver: Driver }
  | { readonly kind: "broken"; readonly name: string; readonly problem: string };

/**
 * Opens the configured handlers. A broken one is reported when a pod uses it, so that the daemon can serve other pods.
 */
export async function openHandlers(options: {
  dataDir: string;
  logger: Logger;
  clock: Clock;
  standard: Driver;
  /** Handlers by name: an OCI runtime's name or path, or `host`. */
  wanted: ReadonlyMap<string, string>;
  signal?: AbortSignal;
}): Promise<readonly Handler[]> {
  const { dataDir, logger, clock, standard, wanted, signal } = options;
  const directory = join(dataDir, "handlers");
  const handlers: Handler[] = [];
  for (const [name, program] of wanted) {
    if (program === "host" && standard.name === "host") {
      handlers.push({ kind: "works", name, driver: standard });
      continue;
    }
    try {
      const { driver } = await chooseDriver({
        dataDir: join(directory, name),
        logger,
        clock,
        signal,
        ...(program === "host" ? { wanted: "host" } : { wanted: "oci", handler: program }),
      });
      handlers.push({ kind: "works", name, driver });
    } catch (error) {
      signal?.throwIfAborted();
      const problem = messageOf(error);
      logger.warn(`the runtime handler ${name} does not work`, { problem });
      handlers.push({ kind: "broken", name, problem });
    }
  }
  await warnOfUnconfigured(directory, { wanted, logger });
  return handlers;
}

/** Warns of containers whose handler was removed from the configuration. */
async function warnOfUnconfigured(
  directory: string,
  { wanted, logger }: { wanted: ReadonlyMap<string, string>; logger: Logger },
): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    if (wanted.has(name)) continue;
    const lists = ["oci", "host"].map((kind) =>
      readdir(join(directory, name, kind, "containers")).catch(() => []),
    );
    const left = (await Promise.all(lists)).flat().length;
    if (left > 0)
      logger.warn(
        `${left} containers of the runtime handler ${name} exist, but the handler is no longer configured`,
      );
  }
}

/**
 * Combines several drivers into one. Each container is created by the driver of its handler and stays with it. After a
 * restart the drivers themselves are queried, because they keep their containers on disk.
 */
export function createHandlerDriver(standard: Driver, handlers: ReadonlyMap<string, Driver>): Driver {
  const drivers = [...new Set([standard, ...handlers.values()])];
  if (drivers.length === 1) return standard;
  const known = new Map<string, Driver>();

  async function driverOf(containerId: string): Promise<Driver> {
    const remembered = known.get(containerId);
    if (remembered) return remembered;
    for (const driver of drivers) {
      if ((await driver.state(containerId)).kind === "missing") continue;
      known.set(containerId, driver);
      return driver;
    }
    // It reports that the container does not exist.
    return standard;
  }

  return {
    name: standard.name,
    limitations: standard.limitations,
    async create(container, options) {
      const driver = (container.handler && handlers.get(container.handler)) || standard;
      await driver.create(container, options);
      known.set(container.id, driver);
    },
    start: async (id, options) => (await driverOf(id)).start(id, options),
    state: async (id) => (await driverOf(id)).state(id),
    wait: async (id, signal) => (await driverOf(id)).wait(id, signal),
    kill: async (id, signalName) => (await driverOf(id)).kill(id, signalName),
    async remove(id) {
      const driver = known.get(id);
      // A partly created container is missing for every driver, but may have left something.
      for (const one of driver ? [driver] : drivers) await one.remove(id);
      known.delete(id);
    },
    exec: async (id, options) => (await driverOf(id)).exec(id, options),
    attach: async (id) => (await driverOf(id)).attach(id),
    updateResources: async (id, resources) => (await driverOf(id)).updateResources(id, resources),
    stats: async (id) => (await driverOf(id)).stats(id),
    reopenLog: async (id) => (await driverOf(id)).reopenLog(id),
    list: async () => (await Promise.all(drivers.map((driver) => driver.list()))).flat(),
    async close() {
      for (const driver of drivers) await driver.close();
    },
  };
}

export interface DriverOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly wanted: "auto" | "oci" | "host";
  /** Name or path of another OCI runtime, for a RuntimeClass handler. */
  readonly handler?: string;
  /** Monitor of an OCI runtime's containers. Defaults to conmon where it is installed. */
  readonly monitor?: "conmon" | "shell";
  readonly clock?: Clock;
  /** Cancels the probes of runtimes. */
  readonly signal?: AbortSignal;
}

interface DriverChoice {
  readonly driver: Driver;
  /** Name of the OCI runtime: `runc`. */
  readonly program?: string;
  /** Sentence that explains the choice. */
  readonly reason: string;
}

/** Chooses a driver that works on this machine. */
export async function chooseDriver(options: DriverOptions): Promise<DriverChoice> {
  const clock = options.clock ?? systemClock;
  const layout = detectCgroupLayout();
  const refusals: string[] = [];
  await mkdir(options.dataDir, { recursive: true, mode: 0o711 });

  if (options.wanted !== "host") {
    const conmon = options.monitor === "shell" ? undefined : findProgram("conmon");
    const own = options.monitor === "conmon" ? undefined : findReaper();
    for (const name of options.handler ? [options.handler] : ["runc", "crun"]) {
      const path = findProgram(name);
      if (!path) {
        refusals.push(`${name} is not installed`);
        continue;
      }
      const problem = await probeOciRuntime({
        path,
        dir: options.dataDir,
        layout,
        clock,
        signal: options.signal,
      });
      if (problem) {
        refusals.push(`${name} does not work here (${problem})`);
        continue;
      }
      if (!conmon && !own) {
        refusals.push(`${name} works, but neither conmon nor perl, to wait for its containers, is installed`);
        continue;
      }
      const program = name.split("/").at(-1) ?? name;
      const driver = await createOciDriver({
        stateDir: join(options.dataDir, "oci"),
        runtime: { name: program, path },
        conmon,
        layout,
        clock,
        logger: options.logger,
        limitations: conmon ? conmonLimitations() : [outputWaitsForDaemon],
      });
      const monitor = conmon ?? `a shell of our own as monitor, as ${missingConmon(options)}`;
      return {
        ...chosen(options.logger, driver, [`${path} works here, with ${monitor}`, ...refusals]),
        program,
      };
    }
  }
  if (options.wanted !== "oci" && !options.handler) {
    const { logger } = options;
    const driver = await createHostDriver({ stateDir: join(options.dataDir, "host"), layout, clock, logger });
    return chosen(options.logger, driver, [refusals.length > 0 ? refusals.join("; ") : "as requested"]);
  }
  throw new DriverError("unsupported", `no way to run containers: ${refusals.join("; ")}`);
}

function conmonLimitations(): string[] {
  return findProgram("perl") ? [] : ["Attach needs perl, which is not installed."];
}

function missingConmon({ monitor }: DriverOptions): string {
  return monitor === "shell" ? "requested" : "conmon is not installed";
}

function chosen(logger: Logger, driver: Driver, reasons: readonly string[]): DriverChoice {
  const reason = `driver ${driver.name}: ${reasons.join("; ")}`;
  logger.info(reason, { limitations: driver.limitations });
  return { driver, reason };
}
