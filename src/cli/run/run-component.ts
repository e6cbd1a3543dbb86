import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Client } from "../../client/api/client.ts";
import { createClient } from "../../client/api/create-client.ts";
import type { ClusterAccess } from "../../client/kubeconfig/cluster-access.ts";
import { runWhileLeader } from "../../client/leader-election/leader-election.ts";
import { runWhileUnclaimed } from "../../client/leader-election/unclaimed-lease.ts";
import { createHttpTransport } from "../../client/transport/http-transport.ts";
import { countRequests, type Transport } from "../../client/transport/transport.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createMetrics, type Metrics } from "../../lib/metrics/metrics.ts";
import type { MetricsServing } from "../options/metrics-options.ts";
import { serveMetrics } from "./serve-metrics.ts";
import { untilStopped } from "./until-stopped.ts";
import { loadAccess } from "./user-access.ts";

interface ComponentOptions {
  /** Default: the cluster that this pod runs in. */
  readonly kubeconfig?: string;
  /** Access to the cluster, instead of `kubeconfig`. */
  readonly access?: ClusterAccess;
  readonly userAgent: string;
  /** Leases in kube-system to hold while working, acquired in this order. Default: none. */
  readonly leases?: readonly string[];
  /** Lease in kube-system that no other process may hold while working. */
  readonly unclaimedLease?: string;
  /** Called when another process holds one of these leases, once for each holder. */
  readonly onOtherHolder?: (lease: string, holder: string) => void;
  /** Default: no metrics are collected or served. */
  readonly metricsServing?: MetricsServing;
  /** Whether the component can do its work. Default: always. */
  readonly isReady?: () => boolean;
  readonly logger: Logger;
}

export interface ComponentDeps {
  readonly client: Client;
  readonly clock: typeof systemClock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly access: ClusterAccess;
  /** Creates a transport with other credentials. Its requests are counted in the metrics too. */
  open(access: ClusterAccess): Transport;
}

type Work = (signal: AbortSignal) => Promise<void>;

const leading = { name: "leader_election_master_status", help: "Whether this process holds the lease" };

/** Runs a component of the control plane until it is stopped, optionally only while it is the leader. */
export async function runComponent(
  {
    kubeconfig,
    access: given,
    userAgent,
    leases = [],
    unclaimedLease,
    onOtherHolder,
    metricsServing,
    isReady,
    logger,
  }: ComponentOptions,
  work: (deps: ComponentDeps, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const access = given ?? (await loadAccess(kubeconfig));
  const metrics = metricsServing && createMetrics();
  const open = (as: ClusterAccess) => {
    const direct = createHttpTransport({ access: as });
    return metrics ? countRequests(direct, metrics, as.server.host) : direct;
  };
  const clock = systemClock;
  const client = createClient({ transport: open(access), userAgent });
  const deps: ComponentDeps = { client, clock, logger, metrics, access, open };
  let served: Awaited<ReturnType<typeof serveMetrics>> | undefined;
  try {
    if (metrics) {
      served = await serveMetrics(metricsServing, { metrics, client, clock, logger, isReady });
      process.stdout.write(`metrics: ${served.url}/metrics\n`);
    }
    await untilStopped(async (signal) => {
      const monotonicMs = () => performance.now();
      const common = { client, namespace: "kube-system", clock, logger, monotonicMs };
      const identity = `${hostname()}_${randomUUID()}`;
      const held = new Set<string>();
      if (leases.length > 0)
        metrics?.gauge(leading, () => leases.map((name) => [{ name }, held.has(name) ? 1 : 0]));
      const alone = leases.reduceRight<Work>(
        (inner, name) => (stop) =>
          runWhileLeader(
            { ...common, name, identity, onOtherHolder: (holder) => onOtherHolder?.(name, holder) },
            (leading) => {
              held.add(name);
              return inner(leading).finally(() => held.delete(name));
            },
            stop,
          ),
        (stop) => work(deps, stop),
      );
      if (unclaimedLease === undefined) return alone(signal);
      const observed = { ...common, name: unclaimedLease };
      await runWhileUnclaimed(
        { ...observed, onOtherHolder: (holder) => onOtherHolder?.(unclaimedLease, holder) },
        alone,
        signal,
      );
    });
  } finally {
    client.close();
    await served?.close();
  }
}
