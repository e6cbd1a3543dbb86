import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { createClient } from "../../client/api/create-client.ts";
import { createHttpTransport } from "../../client/transport/http-transport.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import { systemClock } from "../../lib/clock.ts";
import { isLoopback } from "../../lib/http/loopback.ts";
import { parseMonitorConfiguration } from "../../monitor/configuration/monitor-configuration.ts";
import { type CheckClusterDeps, checkCluster } from "../../monitor/external-cluster/check-cluster.ts";
import { createClusterClock } from "../../monitor/external-cluster/cluster-clock.ts";
import { createMonitorService } from "../../monitor/monitor-service.ts";
import { startMonitorServer } from "../../monitor/server/monitor-server.ts";
import { openLmdbStore } from "../../store/lmdb/lmdb-store.ts";
import { parseGivenFile, readGivenFile, UsageError } from "../options/command-errors.ts";
import { type ListenAddress, listenOption } from "../options/common-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { untilStopped } from "../run/until-stopped.ts";
import { loadAccess } from "../run/user-access.ts";
import { configureReport } from "./monitor-report.ts";

type MonitorFlags = Parameters<typeof loggerOf>[0] & {
  kubeconfig?: string;
  dataDir: string;
  listen: ListenAddress;
  config?: string;
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
};

const examples = `
Examples:
  kindling monitor --kubeconfig ~/.kube/config
  kindling monitor --kubeconfig ~/.kube/config --data-dir /var/lib/kindling-monitor --config monitor.yaml
  kindling monitor --listen 0.0.0.0:9085      in a pod of the monitored cluster`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option(
      "--kubeconfig <file>",
      "kubeconfig of the cluster, 1.29 or later (default: the cluster that this pod runs in)",
    )
    .option(
      "--data-dir <directory>",
      "directory for the monitor's state",
      // Not below ~/.kindling, where `kindling up` has its own monitor and which `kindling reset` removes.
      join(homedir(), ".kindling-monitor"),
    )
    .addOption(listenOption("127.0.0.1:9085"))
    .option("--config <file>", "YAML file with labels, limits, objectives and the trace collector")
    .option("--tls-cert-file <file>", "serving certificate for addresses other than loopback")
    .option("--tls-private-key-file <file>", "private key of --tls-cert-file")
    .addHelpText("after", examples)
    .action(runMonitor);
  configureReport(command.command("report"));
}

async function runMonitor(flags: MonitorFlags): Promise<void> {
  const { kubeconfig, dataDir, listen, config } = flags;
  const logger = loggerOf(flags).component("monitor");
  const clock = createClusterClock({ clock: systemClock, logger });
  const tls = await readTls(flags);
  const configuration =
    (await parseGivenFile("--config", config, parseMonitorConfiguration)) ??
    parseMonitorConfiguration("", "the default");
  const access = await loadAccess(kubeconfig);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const store = await openLmdbStore({ directory: join(dataDir, "starts") });
  const transport = clock.observe(createHttpTransport({ access }));
  const client = createClient({ transport, userAgent: "kindling-monitor" });
  try {
    const deps = { client, clock, logger, store, dataDir, configuration, server: access.server.origin };
    const service = await createMonitorService({ ...deps, registerMetrics: clock.register });
    const server = await startMonitorServer({
      listen,
      parts: service.parts,
      client,
      clock: systemClock,
      logger,
      ...(tls && { tls }),
    });
    process.stdout.write(`monitor: ${server.url}\nmetrics: ${server.url}/metrics\n`);
    await untilStopped(async (signal) => {
      try {
        // The first response shows the cluster's time, which measurements are compared with.
        const checking = checkUntilSuccess({ client, logger, isOnLoopback: isLoopback(listen.host) }, signal);
        await Promise.race([checking, systemClock.sleep(firstResponseTimeoutMs, signal)]).catch(() => {});
        await Promise.all([service.run(signal), checking]);
      } finally {
        await server.close();
      }
    });
  } finally {
    client.close();
    await store.close();
  }
}

/** Maximum delay of the monitor for a cluster that does not respond. */
const firstResponseTimeoutMs = 10_000;
const checkPolicy: BackoffPolicy = { initialMs: 1_000, maxMs: 60_000, factor: 2, resetAfterMs: 60_000 };

async function checkUntilSuccess(deps: CheckClusterDeps, signal: AbortSignal): Promise<void> {
  const onFailure = (error: unknown) =>
    deps.logger.debug("checking release and permissions of the cluster failed; retrying", { error });
  await retry(() => checkCluster(deps, signal), {
    policy: checkPolicy,
    clock: systemClock,
    signal,
    onFailure,
  }).catch((error) => {
    if (!signal.aborted) throw error;
  });
}

async function readTls({ tlsCertFile, tlsPrivateKeyFile }: MonitorFlags) {
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw new UsageError("--tls-cert-file and --tls-private-key-file must be set together");
  const cert = await readGivenFile("--tls-cert-file", tlsCertFile);
  const key = await readGivenFile("--tls-private-key-file", tlsPrivateKeyFile);
  return cert && key && { cert, key };
}
