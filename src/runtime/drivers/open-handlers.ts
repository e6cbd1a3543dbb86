import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { chooseDriver } from "./choose-driver.ts";
import type { Driver } from "./driver.ts";

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
