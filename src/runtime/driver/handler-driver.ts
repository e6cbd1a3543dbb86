import type { Driver } from "./driver.ts";

/**
 * One driver in front of several: each container is made by the driver of its handler and stays with it. Which that
 * was, also after a restart, is asked of the drivers: they keep it on disk.
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
    // It says better than we that there is none.
    return standard;
  }

  return {
    name: standard.name,
    limitations: standard.limitations,
    async create(container) {
      const driver = (container.handler && handlers.get(container.handler)) || standard;
      await driver.create(container);
      known.set(container.id, driver);
    },
    start: async (id) => (await driverOf(id)).start(id),
    state: async (id) => (await driverOf(id)).state(id),
    wait: async (id, signal) => (await driverOf(id)).wait(id, signal),
    kill: async (id, signalName) => (await driverOf(id)).kill(id, signalName),
    async remove(id) {
      const driver = known.get(id);
      // One that was never quite made is missing for every driver, and yet may have left something.
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
