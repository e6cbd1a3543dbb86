import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { monitorUser } from "../../apiserver/request/user-info.ts";
import { createClient } from "../../client/api/create-client.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type MonitorServer, startMonitorServer } from "../../monitor/server/monitor-server.ts";
import type { ControlPlane, StoreOptions } from "./control-plane.ts";

export interface DashboardOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Whether another port may be used if this default one is taken. */
  readonly mayMove?: boolean;
}

export interface ClusterMonitor {
  /** URL of the dashboard. */
  readonly url: string;
  close(): Promise<void>;
}

/** Delay before the monitor is loaded, so that the cluster is announced first. */
const loadAfterMs = 100;

/** Starts the monitor of this cluster and its dashboard. Resolves when the dashboard listens. */
export async function startClusterMonitor(options: {
  readonly controlPlane: ControlPlane;
  readonly dashboard: DashboardOptions;
  /** Directory for the monitor's state. */
  readonly directory: string;
  /** Store of the cluster. That of the monitor is of the same kind. */
  readonly store: StoreOptions;
  readonly clock: Clock | undefined;
  readonly logger: Logger;
}): Promise<ClusterMonitor> {
  const { controlPlane, dashboard, directory, clock = systemClock } = options;
  const logger = options.logger.component("monitor");
  const transport = controlPlane.connect({ commonName: monitorUser });
  const client = createClient({ transport, userAgent: "kindling-monitor" });
  const stopping = new AbortController();
  const { signal } = stopping;

  async function load() {
    await systemClock.sleep(loadAfterMs, signal);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const [{ createMonitorService }, { parseMonitorConfiguration }, store] = await Promise.all([
      import("../../monitor/monitor-service.ts"),
      import("../../monitor/configuration/monitor-configuration.ts"),
      openStore(options.store.kind, directory),
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
    // It ends before it is stopped only because of an error; the other parts continue.
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
  parts.catch((error) => signal.aborted || logger.error("starting the monitor failed", { error }));
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

async function openStore(kind: StoreOptions["kind"], directory: string) {
  if (kind === "memory") return (await import("../../store/local/memory-store.ts")).createMemoryStore();
  const { openLmdbStore } = await import("../../store/lmdb/lmdb-store.ts");
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
      `the dashboard cannot be served at this address: ${why}; choose another with --dashboard HOST:PORT, or off`,
    );
  }
}
