import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { createClient } from "../../client/create-client.ts";
import { createHttpTransport } from "../../client/http-transport.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import { systemClock } from "../../lib/clock.ts";
import { isLoopback } from "../../lib/http/loopback.ts";
import { parseMonitorConfiguration } from "../../monitor/configuration/monitor-configuration.ts";
import { type CheckClusterDeps, checkCluster } from "../../monitor/foreign/check-cluster.ts";
import { createClusterClock } from "../../monitor/foreign/cluster-clock.ts";
import { createMonitorService } from "../../monitor/monitor-service.ts";
import { startMonitorServer } from "../../monitor/server/monitor-server.ts";
import { openLmdbStore } from "../../store/lmdb/lmdb-store.ts";
import { type ListenAddress, listenOption } from "../listen-option.ts";
import { loadAccess } from "../load-access.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { parseGivenFile, readGivenFile } from "../read-given-file.ts";
import { untilStopped } from "../until-stopped.ts";
import { UsageError } from "../usage-error.ts";
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
  kindling monitor --listen 0.0.0.0:9085      in a pod of the cluster that it watches`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option("--kubeconfig <file>", "the cluster: any of 1.29 or later; without it, the one this runs in")
    .option(
      "--data-dir <directory>",
      "where it keeps what it has told, so that a restart does not tell it again",
      // Not below ~/.kindling: a kindling up has its own monitor there, and reset removes it.
      join(homedir(), ".kindling-monitor"),
    )
    .addOption(listenOption("127.0.0.1:9085"))
    .option("--config <file>", "labels to tell apart, limits, objectives and where traces go, as YAML")
    .option("--tls-cert-file <file>", "the certificate to serve with elsewhere than on loopback")
    .option("--tls-private-key-file <file>", "the key of that certificate")
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
  const transport = clock.listenTo(createHttpTransport({ access }));
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
        // The first answer tells the cluster's time, with which all that is measured is compared.
        const checking = checkUntilAnswered(
          { client, logger, isOnLoopback: isLoopback(listen.host) },
          signal,
        );
        await Promise.race([checking, systemClock.sleep(patienceMs, signal)]).catch(() => {});
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

/** How long what is measured waits for a cluster that does not answer. */
const patienceMs = 10_000;
const checkPolicy: BackoffPolicy = { initialMs: 1_000, maxMs: 60_000, factor: 2, resetAfterMs: 60_000 };

async function checkUntilAnswered(deps: CheckClusterDeps, signal: AbortSignal): Promise<void> {
  const onFailure = (error: unknown) =>
    deps.logger.debug("the cluster does not tell what it allows", { error });
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
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  const cert = await readGivenFile("--tls-cert-file", tlsCertFile);
  const key = await readGivenFile("--tls-private-key-file", tlsPrivateKeyFile);
  return cert && key && { cert, key };
}
