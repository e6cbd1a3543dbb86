import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { monitorUser } from "../apiserver/auth/user-info.ts";
import { createClient } from "../client/create-client.ts";
import { systemClock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { type MonitorServer, startMonitorServer } from "../monitor/server/monitor-server.ts";
import type { ControlPlane, ControlPlaneOptions } from "./control-plane.ts";
import { dataDirPaths } from "./data-dir/data-dir-paths.ts";

export interface DashboardOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Any other port is as good when this one is taken: nobody asked for it. */
  readonly mayMove?: boolean;
}

export interface ClusterMonitor {
  /** Where its page is. */
  readonly url: string;
  close(): Promise<void>;
}

/** The page is asked for at once, and the cluster is told of: what it shows is loaded a little later. */
const loadAfterMs = 100;

/** The monitor of the cluster that runs in this process, and its page. Listens when this resolves. */
export async function startClusterMonitor(
  controlPlane: ControlPlane,
  options: ControlPlaneOptions & { readonly dashboard: DashboardOptions },
): Promise<ClusterMonitor> {
  const { dashboard, clock = systemClock } = options;
  const logger = options.logger.component("monitor");
  const transport = controlPlane.connect({ commonName: monitorUser });
  const client = createClient({ transport, userAgent: "kindling-monitor" });
  const stopping = new AbortController();
  const { signal } = stopping;

  async function load() {
    await systemClock.sleep(loadAfterMs, signal);
    const { monitor: directory } = dataDirPaths(options.dataDir);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const [{ createMonitorService }, { parseMonitorConfiguration }, store] = await Promise.all([
      import("../monitor/monitor-service.ts"),
      import("../monitor/configuration/monitor-configuration.ts"),
      openStore(options, directory),
    ]);
    const service = await createMonitorService({
      client,
      clock,
      logger,
      store,
      dataDir: directory,
      configuration: parseMonitorConfiguration("", "the default"),
      server: controlPlane.url,
    });
    // It ends before it is stopped only by a fault of its own; what runs goes on without it.
    const running = service
      .run(signal)
      .catch((error) => signal.aborted || logger.error("the monitor failed", { error }))
      .finally(() => store.close());
    return { parts: service.parts, running };
  }

  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const service = begun.then(load);
  const parts = service.then((loaded) => loaded.parts);
  parts.catch((error) => signal.aborted || logger.error("the monitor could not be started", { error }));
  const server = await listen(dashboard, (address) =>
    startMonitorServer({ listen: address, parts, client, clientCa: controlPlane.ca, clock, logger }),
  ).catch((error) => {
    client.close();
    throw error;
  });
  begin();
  return {
    url: server.url,
    async close() {
      stopping.abort(new Error("the cluster stops"));
      await server.close();
      await service.then(({ running }) => running).catch(() => {});
      client.close();
    },
  };
}

/** Beside the cluster's own, and as lasting as that. */
async function openStore({ store }: ControlPlaneOptions, directory: string) {
  if (store.kind === "memory") return (await import("../store/local/memory-store.ts")).createMemoryStore();
  const { openLmdbStore } = await import("../store/lmdb/lmdb-store.ts");
  return openLmdbStore({ directory: join(directory, "starts") });
}

async function listen(
  { listen: address, mayMove = false }: DashboardOptions,
  start: (address: DashboardOptions["listen"]) => Promise<MonitorServer>,
): Promise<MonitorServer> {
  try {
    return await start(address);
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (isTaken && mayMove) return start({ ...address, port: 0 });
    const why = messageOf(error);
    throw new Error(
      `the page cannot be served there: ${why}: choose another with --dashboard HOST:PORT, or off`,
    );
  }
}
