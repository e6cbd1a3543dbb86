import type { Command } from "commander";
import { startDnsServer } from "../../dns/dns-server.ts";
import { createNodeResolvers } from "../../dns/forward/node-resolvers.ts";
import { untilAborted } from "../../lib/abort.ts";
import { joinHostPort } from "../../lib/join-host-port.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { clusterDomainOption, type ListenAddress, listenOption } from "../options/common-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../options/metrics-options.ts";
import { runComponent } from "../run/run-component.ts";

type DnsFlags = MetricsFlags &
  Parameters<typeof loggerOf>[0] & {
    kubeconfig?: string;
    listen: ListenAddress;
    clusterDomain: string;
    resolvConf: string;
  };

const examples = `
Examples:
  kindling dns --kubeconfig dns.kubeconfig --listen 127.0.0.1:1053
  kindling dns --listen 0.0.0.0:53 --metrics-listen 0.0.0.0:9153      in a pod`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option(
      "--kubeconfig <file>",
      "kubeconfig of the API server (default: the cluster that this pod runs in)",
    )
    .addOption(listenOption("127.0.0.1:53"))
    .addOption(clusterDomainOption())
    .option(
      "--resolv-conf <file>",
      "file with the DNS servers for names outside of the cluster",
      "/etc/resolv.conf",
    );
  addMetricsOptions(command).addHelpText("after", examples).action(runDns);
}

async function runDns(flags: DnsFlags): Promise<void> {
  const { kubeconfig, listen, clusterDomain, resolvConf } = flags;
  const metricsServing = await readMetricsServing(flags);
  const logger = loggerOf(flags).component("dns");
  let isReady = () => false;
  await runComponent(
    { kubeconfig, userAgent: "kindling-dns", metricsServing, isReady: () => isReady(), logger },
    async ({ client, clock, metrics = createMetrics() }, signal) => {
      // A server at this address on another port is not this one.
      const exclude = listen.port === 53 ? [listen.host] : [];
      const resolvers = createNodeResolvers({ file: resolvConf, exclude, clock, logger });
      const server = await startDnsServer({
        client,
        clock,
        logger,
        metrics,
        clusterDomain,
        listen,
        resolvers,
      });
      isReady = server.isSynced;
      process.stdout.write(`DNS is served at ${joinHostPort(listen.host, server.port)} (UDP and TCP)\n`);
      await untilAborted(signal).finally(() => server.close());
    },
  );
}
