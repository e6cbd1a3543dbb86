import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { cidrProblems } from "../../api/meta/validate-ip.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { serveProxyHealth } from "../../proxy/health/healthz-server.ts";
import { addressesInRanges } from "../../proxy/model/node-port-addresses.ts";
import {
  createNftablesBackend,
  nftablesProblem,
  removeTables,
} from "../../proxy/nftables/nftables-backend.ts";
import { createProxy } from "../../proxy/proxy.ts";
import {
  allowExternalIPsOption,
  nodePortAddressesOption,
  parseListenAddress,
} from "../options/common-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../options/metrics-options.ts";
import { type ComponentDeps, runComponent } from "../run/run-component.ts";

type ProxyFlags = MetricsFlags &
  Parameters<typeof loggerOf>[0] & {
    kubeconfig?: string;
    nodeName: string;
    nodeportAddresses?: readonly string[];
    clusterCidr?: readonly string[];
    masqueradeAll: boolean;
    allowExternalIps: boolean;
    healthzListen: { host: string; port: number };
    cleanup: boolean;
  };

const examples = `
Examples:
  kindling proxy --kubeconfig proxy.kubeconfig --node-name worker-1 --cluster-cidr 10.244.0.0/16
  kindling proxy --kubeconfig proxy.kubeconfig --nodeport-addresses 192.168.0.0/16 --metrics-listen 127.0.0.1:10249
  kindling proxy --cleanup

Stop kube-proxy on the node first and remove its rules with kube-proxy --cleanup.
The rules stay when the proxy stops, so that connections continue; --cleanup removes them.`;

/** Name of the packet tables. */
const table = "kindling-proxy";

export function configure(command: Command): void {
  addLogOptions(command)
    .option(
      "--kubeconfig <file>",
      "kubeconfig of the API server (default: the cluster that this pod runs in)",
    )
    .addOption(
      new Option("--node-name <name>", "name of the node").default(hostname().toLowerCase(), "the host name"),
    )
    .addOption(
      nodePortAddressesOption("ranges of this machine's addresses that serve node ports (default: all)"),
    )
    .addOption(
      new Option(
        "--cluster-cidr <cidrs>",
        "ranges of pod addresses, at most one for each IP family: connections to cluster IPs from elsewhere are masqueraded",
      ).argParser(parseCidrs),
    )
    .option("--masquerade-all", "masquerade all connections to cluster IPs", false)
    .addOption(allowExternalIPsOption("serve spec.externalIPs of services"))
    .addOption(
      new Option("--healthz-listen <host:port>", "address of /healthz and /livez")
        .argParser(parseListenAddress)
        .default({ host: "127.0.0.1", port: 10_256 }, "127.0.0.1:10256"),
    )
    .option("--cleanup", "remove the rules of an earlier run and exit", false);
  addMetricsOptions(command).addHelpText("after", examples).action(runProxy);
}

async function runProxy(flags: ProxyFlags): Promise<void> {
  const problem = await nftablesProblem();
  if (problem)
    throw new Error(`nftables cannot be used: ${problem}; run as root with the package nftables installed`);
  if (flags.cleanup) return removeTables(table);
  const metricsServing = await readMetricsServing(flags);
  const logger = loggerOf(flags).component("proxy");
  await runComponent(
    { kubeconfig: flags.kubeconfig, userAgent: "kindling-proxy", metricsServing, logger },
    (deps, signal) => serve(flags, deps, signal),
  );
}

async function serve(flags: ProxyFlags, deps: ComponentDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, metrics = createMetrics() } = deps;
  const nodePortAddresses = addressesInRanges(flags.nodeportAddresses ?? ["0.0.0.0/0", "::/0"]);
  const [ip, ip6] = [false, true].map((isIPv6) =>
    flags.clusterCidr?.find((range) => range.includes(":") === isIPv6),
  );
  const backend = await createNftablesBackend({
    table,
    nodePortAddresses,
    exposedAddresses: nodePortAddresses,
    podSubnets: { ip, ip6 },
    masqueradeAll: flags.masqueradeAll,
    logger,
  });
  for (const limitation of backend.limitations) logger.warn(limitation);
  const proxy = createProxy({
    client,
    nodeName: flags.nodeName,
    backend,
    healthCheckHosts: nodePortAddresses,
    externalIPs: flags.allowExternalIps ? "served" : "ignored",
    clock,
    logger,
    metrics,
  });
  const health = await serveProxyHealth(flags.healthzListen, { proxy, now: clock.now, logger });
  proxy.ready.then(
    () => process.stdout.write(`services of node ${flags.nodeName} are proxied by ${backend.name}\n`),
    () => {},
  );
  try {
    await proxy.run(signal);
  } finally {
    await health.close();
  }
}

function parseCidrs(text: string): readonly string[] {
  const ranges = text.split(",").map((range) => range.trim());
  if (ranges.some((range) => cidrProblems(range).length > 0) || ranges.length > 2)
    throw new InvalidArgumentError("must be CIDRs such as 10.244.0.0/16,fd00:1::/64");
  return ranges;
}
