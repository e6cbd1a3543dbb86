import { access } from "node:fs/promises";
import { serviceAccountGroups, serviceAccountUsername } from "../../apiserver/request/user-info.ts";
import type { Client } from "../../client/api/client.ts";
import { createClient } from "../../client/api/create-client.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import { tryRunProgram } from "../../lib/process/run-program.ts";
import type { BackendChoice } from "../../proxy/choose-backend.ts";
import type { ProxyBackend } from "../../proxy/model/backend.ts";
import type { ProxyOptions } from "../../proxy/proxy.ts";
import type { PodLinkFacts } from "../../runtime/networks/network.ts";
import { dataDirPaths } from "../data-dir/data-dir-files.ts";
import { serviceTable } from "../host/service-rules.ts";
import type { ControlPlane } from "./control-plane.ts";
import { type NetworkPolicies, startNetworkPolicies } from "./network-policies.ts";
import type { RunningNode } from "./node.ts";

export interface ServiceProxyOptions {
  /** Backend of the proxy. `auto` chooses by what the machine has; `off` runs none. */
  readonly backend: BackendChoice | "off";
  /** Ranges of addresses of this machine at which other machines reach node ports and load balancers. Default: none. */
  readonly nodePortRanges?: readonly string[];
}

export interface ClusterProxy {
  readonly protectPod: NetworkPolicies["protectPod"];
  /** Stops the proxy. Unless they are to be removed, rules stay while there are pods, whose connections continue. */
  stop(options: { readonly removeRules: boolean }): Promise<void>;
}

interface StartOptions extends ServiceProxyOptions, Pick<ProxyOptions, "externalIPs"> {
  readonly dataDir: string;
  readonly controlPlane: ControlPlane;
  readonly node: RunningNode;
  readonly metrics: Metrics;
  readonly clock?: Clock;
  readonly logger: Logger;
  /** Range of cluster IPs. */
  readonly serviceSubnet: string;
}

/** Starts the service proxy of a node and lets its pods reach the API server. Undefined if it is off. */
export async function startServiceProxy(options: StartOptions): Promise<ClusterProxy | undefined> {
  const { controlPlane, node, clock = systemClock, metrics, serviceSubnet } = options;
  const logger = options.logger.component("proxy");
  const link = await node.preparePodNetwork();
  if (link) await controlPlane.listenForPods(link.gateway);
  // Loaded here, because clusters with simulated nodes need none of it.
  const [{ createProxy }, { chooseBackend }, { runLoadBalancerStatus }, { addressesInRanges }] =
    await Promise.all([
      import("../../proxy/proxy.ts"),
      import("../../proxy/choose-backend.ts"),
      import("../../proxy/load-balancer/load-balancer-status.ts"),
      import("../../proxy/model/node-port-addresses.ts"),
    ]);
  const exposedAddresses = addressesInRanges(options.nodePortRanges ?? []);
  const nodePortAddresses = [...new Set(["127.0.0.1", ...(link ? [link.gateway] : []), ...exposedAddresses])];
  if (options.backend === "off") return undefined;
  const client = createClient({
    transport: controlPlane.connect({ commonName: "system:kube-proxy" }),
    userAgent: "kindling-proxy",
  });
  const { status } = await client.get("nodes", { name: node.name });
  const { backend, reason } = await chooseBackend({
    wanted: options.backend,
    table: serviceTable(options.dataDir),
    podInterface: link?.interface,
    gateway: link?.gateway,
    podSubnet: link?.subnet,
    addressRecord: dataDirPaths(options.dataDir).serviceAddresses,
    exposedAddresses,
    nodePortAddresses,
    nodeAddresses: (status?.addresses ?? []).flatMap(({ type, address }) =>
      type === "InternalIP" ? [address] : [],
    ),
    serviceSubnet,
    logger,
  });
  logger.info(reason);
  for (const limitation of backend.limitations) logger.warn(limitation);
  if (link && backend.name === "nftables") await routeServices(serviceSubnet, link, logger);
  const policies = await startNetworkPolicies({
    dataDir: options.dataDir,
    controlPlane,
    nodeName: node.name,
    backend: backend.name,
    podInterface: link?.interface,
    clock,
    logger: options.logger,
  });
  const proxy = createProxy({
    client,
    nodeName: node.name,
    backend,
    healthCheckHosts: nodePortAddresses,
    externalIPs: options.externalIPs,
    clock,
    logger,
    metrics,
  });
  const stopping = new AbortController();
  const running = proxy
    .run(stopping.signal)
    .catch((error) => logger.error("the service proxy failed", { error }));
  const balancer = createClient({
    transport: controlPlane.connect({
      commonName: serviceAccountUsername("kube-system", "service-controller"),
      organizations: serviceAccountGroups("kube-system"),
    }),
    userAgent: "kindling-load-balancer",
  });
  const balancing = runLoadBalancerStatus(
    {
      client: balancer,
      addresses: exposedAddresses.length > 0 ? exposedAddresses : link ? [link.gateway] : [],
      clock,
      logger,
    },
    stopping.signal,
  ).catch((error) => logger.error("load balancers get no addresses", { error }));
  const reporting = proxy.ready.then(
    () => reportBackend(options, [...backend.limitations, policies.description], backend.name),
    () => {},
  );
  return {
    protectPod: policies.protectPod,
    async stop({ removeRules }) {
      stopping.abort(new Error("the node stops"));
      await Promise.all([running, balancing, reporting]);
      client.close();
      balancer.close();
      // The network removes its interface with the last pod.
      const isUnused = removeRules || (link !== undefined && !(await linkExists(link.interface)));
      await policies.stop({ removeRules: isUnused });
      if (isUnused) await backend.remove();
    },
  };
}

/** Adds a route to the cluster IPs, without which a machine that has no default route rejects connections to them. */
async function routeServices(subnet: string, link: PodLinkFacts, logger: Logger): Promise<void> {
  const args = ["route", "add", subnet, "dev", link.interface, "src", link.gateway];
  const { exitCode, output } = await tryRunProgram("ip", args, { timeoutMs: 10_000 });
  // Another cluster on this machine may have added it.
  if (exitCode !== 0 && !output.includes("File exists"))
    logger.warn(`cannot add a route to ${subnet}: ${output}`);
}

/** Condition of the node that names the backend. */
const conditionType = "kindling.dev/ServiceProxyReady";

/** Writes the backend into the node's status, as the user of the node's kubelet. */
async function reportBackend(
  { controlPlane, node, clock = systemClock, logger }: StartOptions,
  sentences: readonly string[],
  backend: ProxyBackend["name"],
) {
  const transport = controlPlane.connect({
    commonName: `system:node:${node.name}`,
    organizations: ["system:nodes"],
  });
  const client: Client = createClient({ transport, userAgent: "kindling-proxy" });
  const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  const condition = {
    type: conditionType,
    status: "True",
    reason: backend === "nftables" ? "Nftables" : "Userspace",
    message: [`services are proxied by ${backend}`, ...sentences].join("; "),
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  try {
    const patch = { kind: "strategic" as const, body: { status: { conditions: [condition] } } };
    await client.patch("nodes", { name: node.name }, { patch, subresource: "status" });
  } catch (error) {
    logger.warn("cannot write the service proxy into the node's status", { error });
  } finally {
    client.close();
  }
}

function linkExists(name: string): Promise<boolean> {
  return access(`/sys/class/net/${name}`).then(
    () => true,
    () => false,
  );
}
