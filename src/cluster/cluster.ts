import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { addressRange } from "../apiserver/storage/service-claims.ts";
import { createLimiter } from "../lib/limiter.ts";
import { createMetrics, type Metrics } from "../lib/metrics/metrics.ts";
import { dataDirPaths } from "./data-dir/data-dir-files.ts";
import { closeAfter, closeInTurn } from "./host/close-in-turn.ts";
import { type ClusterDns, clusterDnsAddress } from "./parts/cluster-dns.ts";
import { startControllers, startScheduler } from "./parts/components.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./parts/control-plane.ts";
import { type ClusterMonitor, type DashboardOptions, startClusterMonitor } from "./parts/monitor.ts";
import { type NodeOptions, type RunningNode, startNode } from "./parts/node.ts";
import type { ClusterProxy, ServiceProxyOptions } from "./parts/service-proxy.ts";

export interface ClusterOptions
  extends ControlPlaneOptions,
    Pick<NodeOptions, "runtime" | "ephemeral" | "runtimeConfig" | "kubeletConfig" | "adoptSandboxes"> {
  readonly nodes: number;
  /** DNS of the cluster. Default: none. Nodes of a simulated runtime have its address but no server. */
  readonly dns?: { readonly clusterDomain: string };
  /** Service proxy of the node. Default: none. Nodes of a simulated runtime never have one. */
  readonly serviceProxy?: ServiceProxyOptions;
  /** Enables the monitor with its dashboard at this address. */
  readonly dashboard?: DashboardOptions;
}

export interface Cluster extends Pick<ControlPlane, "url" | "kubeconfig" | "stopServing" | "serveAgain"> {
  readonly nodes: readonly RunningNode[];
  /** URL of the dashboard. Undefined without a monitor. */
  readonly dashboard: string | undefined;
  /** Stops all parts. Containers keep running unless they are ephemeral. */
  close(): Promise<void>;
}

/** Warning for writes of NetworkPolicies: no part of the cluster enforces them. */
const notEnforced =
  "NetworkPolicies are stored but not enforced in this cluster: pods accept all connections";

/** Maximum number of nodes that start concurrently, because each opens several files and sockets. */
const startingAtOnce = 50;

/** Starts all parts of a cluster in this process. Resolves when its nodes are registered. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, store, features, logger, clock, dashboard } = options;
  const paths = dataDirPaths(dataDir);
  // A failing part or the abort signal stops the start of all parts.
  const failed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal;
  setMaxListeners(0, signal);
  const metrics = createMetrics();
  let policyWarning: string | undefined;
  const startingControlPlane = startControlPlane({
    dataDir,
    store,
    listen: options.listen,
    features,
    kinds: options.kinds,
    logger,
    kubeconfig: options.kubeconfig,
    limits: options.limits,
    staticTokens: options.staticTokens,
    clock,
    otherMetrics: metrics.text,
    networkPolicyWarning: () => policyWarning,
    externalIPs: options.externalIPs,
    signal,
  });
  let startingProxy: Promise<ClusterProxy | undefined> = Promise.resolve(undefined);
  let startingDns: Promise<ClusterDns | undefined> = Promise.resolve(undefined);
  const names = Array.from({ length: options.nodes }, (_, i) => `node-${i + 1}`);
  const inTurn = createLimiter(startingAtOnce);
  const startingNodes = names.map((name) =>
    inTurn(() => {
      signal.throwIfAborted();
      return startNode({
        name,
        dataDir: join(paths.nodes, name),
        controlPlane: startingControlPlane,
        runtime: options.runtime,
        runtimeConfig: options.runtimeConfig,
        ephemeral: options.ephemeral,
        features,
        kubeletConfig: options.kubeletConfig,
        clusterDomain: options.dns?.clusterDomain,
        clusterDns: async () => (await startingDns)?.addresses ?? [],
        protectPod: async (...pod) => (await startingProxy)?.protectPod?.(...pod),
        adoptSandboxes: options.adoptSandboxes,
        clock,
        logger,
        signal,
      });
    }),
  );
  const startingComponents = startingControlPlane.then((controlPlane) => [
    startScheduler({ controlPlane, logger, clock, metrics }),
    startControllers({ controlPlane, dataDir, logger, clock, features, metrics }),
  ]);
  startingProxy = startProxy(options, { startingControlPlane, startingNodes, metrics });
  void startingProxy.then((proxy) => {
    policyWarning = proxy?.protectPod ? undefined : notEnforced;
  });
  startingDns = startDns(options, { startingControlPlane, startingNodes, startingProxy, metrics });
  let monitor: ClusterMonitor | undefined;
  // Includes parts that are still starting when another one fails.
  const close = () =>
    closeInTurn(
      async () => monitor?.close(),
      () => endEach([startingComponents], (parts) => Promise.all(parts.map((part) => part.stop()))),
      () => endEach([startingDns], async (dns) => dns?.close()),
      () => endEach(startingNodes, (node) => node.close()),
      // After the nodes, whose network may have removed what the rules belong to.
      () =>
        endEach([startingProxy], async (proxy) => proxy?.stop({ removeRules: options.ephemeral ?? false })),
      () => endEach([startingControlPlane], (controlPlane) => controlPlane.close()),
    );
  try {
    // Started concurrently: the first failure is reported.
    const [controlPlane, nodes] = await Promise.all([startingControlPlane, Promise.all(startingNodes)]);
    // Started last, because no other part depends on it.
    if (dashboard) {
      const directory = paths.monitor;
      monitor = await startClusterMonitor({ controlPlane, dashboard, directory, store, clock, logger });
    }
    signal.throwIfAborted();
    const { url, kubeconfig, stopServing, serveAgain } = controlPlane;
    return { url, kubeconfig, nodes, dashboard: monitor?.url, stopServing, serveAgain, close };
  } catch (error) {
    const isStop = signal.aborted;
    failed.abort(error);
    return closeAfter(isStop ? signal.reason : error, { isStop, close });
  }
}

/**
 * Starts the service proxy of a cluster whose node runs containers. A failure is logged: pods work without services.
 */
async function startProxy(
  options: ClusterOptions,
  parts: {
    readonly startingControlPlane: Promise<ControlPlane>;
    readonly startingNodes: readonly Promise<RunningNode>[];
    readonly metrics: Metrics;
  },
): Promise<ClusterProxy | undefined> {
  const { serviceProxy, runtime, dataDir, clock, logger } = options;
  if (!serviceProxy || serviceProxy.backend === "off" || runtime.kind === "simulated") return undefined;
  if (serviceProxy.backend === "auto") {
    const { proxyProblem } = await import("../proxy/choose-backend.ts");
    const problem = await proxyProblem();
    if (problem) {
      logger.info(`services are not reachable: ${problem}`);
      return undefined;
    }
  }
  const started = await Promise.all([parts.startingControlPlane, parts.startingNodes[0]]).catch(
    () => undefined,
  );
  const [controlPlane, node] = started ?? [];
  // A cluster whose other parts fail does not start.
  if (!controlPlane || !node) return undefined;
  try {
    const { startServiceProxy } = await import("./parts/service-proxy.ts");
    const { metrics } = parts;
    return await startServiceProxy({
      ...serviceProxy,
      externalIPs: options.externalIPs === "allowed" ? "served" : "ignored",
      dataDir,
      controlPlane,
      node,
      metrics,
      clock,
      logger,
      serviceSubnet: addressRange,
    });
  } catch (error) {
    logger.error("cannot start the service proxy: services are not reachable", { error });
    return undefined;
  }
}

/**
 * Starts the DNS server of a cluster whose services are reachable. A failure is logged: pods then use the DNS servers of the
 * node.
 */
async function startDns(
  { dns, runtime, kubeletConfig, clock, logger }: ClusterOptions,
  parts: {
    readonly startingControlPlane: Promise<ControlPlane>;
    readonly startingNodes: readonly Promise<RunningNode>[];
    readonly startingProxy: Promise<ClusterProxy | undefined>;
    readonly metrics: Metrics;
  },
): Promise<ClusterDns | undefined> {
  if (!dns) return undefined;
  if (runtime.kind === "simulated") return { addresses: [clusterDnsAddress], close: async () => {} };
  try {
    if (!(await parts.startingProxy)) return undefined;
    const [controlPlane, node] = await Promise.all([parts.startingControlPlane, parts.startingNodes[0]]);
    if (!node) return undefined;
    const { startClusterDns } = await import("./parts/start-cluster-dns.ts");
    const resolvConf = kubeletConfig?.resolvConf || "/etc/resolv.conf";
    const { metrics } = parts;
    return await startClusterDns({ ...dns, controlPlane, node, resolvConf, metrics, clock, logger });
  } catch (error) {
    logger.error("cannot start the DNS server: pods use the DNS servers of the node", { error });
    return undefined;
  }
}

/** Waits for parts that are starting and closes them; failed parts are ignored. */
async function endEach<T>(parts: readonly Promise<T>[], end: (part: T) => Promise<unknown>): Promise<void> {
  const settled = await Promise.allSettled(parts);
  const ended = await Promise.allSettled(
    settled.map((part) => part.status === "fulfilled" && end(part.value)),
  );
  for (const part of ended) if (part.status === "rejected") throw part.reason;
}
