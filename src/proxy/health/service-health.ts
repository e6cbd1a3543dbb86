import type { Server } from "node:http";
import { createHttpServer, listenOn } from "../../lib/http/http-server.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ServiceHealthCheck } from "../model/service-port.ts";

/** Servers of `healthCheckNodePort`: load balancers ask them whether this node has endpoints of a service. */
export interface ServiceHealth {
  /** Opens and closes servers, so that there is one for each check. */
  sync(checks: ReadonlyMap<string, ServiceHealthCheck>): Promise<void>;
  close(): Promise<void>;
}

interface OpenServer {
  check: ServiceHealthCheck;
  readonly closers: readonly (() => Promise<void>)[];
}

const maxConnections = 50;

export function createServiceHealth(options: {
  /** Addresses to listen on. */
  readonly hosts: readonly string[];
  /** Whether the proxy itself works. A load balancer must not use a node whose rules are outdated. */
  readonly isProxyHealthy: () => boolean;
  readonly logger: Logger;
}): ServiceHealth {
  const { hosts, isProxyHealthy, logger } = options;
  const open = new Map<string, OpenServer>();

  async function start(service: string, check: ServiceHealthCheck): Promise<void> {
    const closers: (() => Promise<void>)[] = [];
    const entry: OpenServer = { check, closers };
    open.set(service, entry);
    for (const host of hosts) {
      const server: Server = createHttpServer({ maxConnections, logger });
      server.on("request", (_request, response) => {
        const { namespace, name, localEndpoints } = entry.check;
        const body = JSON.stringify({
          service: { namespace, name },
          localEndpoints,
          serviceProxyHealthy: isProxyHealthy(),
        });
        response.writeHead(localEndpoints > 0 && isProxyHealthy() ? 200 : 503, {
          "content-type": "application/json",
          "x-load-balancing-endpoint-weight": String(localEndpoints),
        });
        response.end(body);
      });
      try {
        closers.push((await listenOn(server, { host, port: check.port })).close);
      } catch (error) {
        logger.error("cannot open the health check port of a service", {
          service,
          port: check.port,
          host,
          error,
        });
      }
    }
  }

  async function stop(service: string): Promise<void> {
    const entry = open.get(service);
    open.delete(service);
    for (const close of entry?.closers ?? []) await close();
  }

  return {
    async sync(checks) {
      for (const [service, { check }] of [...open])
        if (checks.get(service)?.port !== check.port) await stop(service);
      for (const [service, check] of checks) {
        const entry = open.get(service);
        if (entry) entry.check = check;
        else await start(service, check);
      }
    },
    async close() {
      for (const service of [...open.keys()]) await stop(service);
    },
  };
}
