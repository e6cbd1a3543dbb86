import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Client } from "../client/client.ts";
import type { ClusterAccess } from "../client/cluster-access.ts";
import { countRequests } from "../client/count-requests.ts";
import { createClient } from "../client/create-client.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import { runWhileLeader } from "../client/leader-election.ts";
import type { Transport } from "../client/transport.ts";
import { systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMetrics, type Metrics } from "../lib/metrics.ts";
import { loadAccess } from "./load-access.ts";
import type { MetricsServing } from "./metrics-options.ts";
import { serveMetrics } from "./serve-metrics.ts";
import { untilStopped } from "./until-stopped.ts";

interface ComponentOptions {
  /** Without it, the API server of the cluster this runs in. */
  readonly kubeconfig?: string;
  readonly userAgent: string;
  /** The lease in kube-system that those who share the work hold; without it the work is done right away. */
  readonly lease?: string;
  /** Nothing is counted without it. */
  readonly metricsServing?: MetricsServing;
  readonly logger: Logger;
}

export interface ComponentDeps {
  readonly client: Client;
  readonly clock: typeof systemClock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly access: ClusterAccess;
  /** With other credentials than those of `access`; counted like its own requests. */
  open(access: ClusterAccess): Transport;
}

const leading = { name: "leader_election_master_status", help: "Whether this process holds the lease" };

/** A part of the control plane on its own, until it is told to stop: alone, or while it is the leader. */
export async function runComponent(
  { kubeconfig, userAgent, lease, metricsServing, logger }: ComponentOptions,
  work: (deps: ComponentDeps, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const access = await loadAccess(kubeconfig);
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
      served = await serveMetrics(metricsServing, { metrics, client, clock, logger });
      process.stdout.write(`metrics: ${served.url}/metrics\n`);
    }
    await untilStopped(async (signal) => {
      if (lease === undefined) return work(deps, signal);
      let leads = 0;
      metrics?.gauge(leading, () => [[{ name: lease }, leads]]);
      const identity = `${hostname()}_${randomUUID()}`;
      const election = { client, namespace: "kube-system", name: lease, identity, clock, logger };
      const lead = async (signal: AbortSignal) => {
        leads = 1;
        await work(deps, signal).finally(() => {
          leads = 0;
        });
      };
      await runWhileLeader(election, lead, signal);
    });
  } finally {
    client.close();
    await served?.close();
  }
}
