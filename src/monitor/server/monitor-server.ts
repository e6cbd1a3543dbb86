import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client } from "../../client/api/client.ts";
import type { Clock } from "../../lib/clock.ts";
import { sendResponse, textResponse } from "../../lib/http/http-exchange.ts";
import { createHttpServer, listenOn } from "../../lib/http/http-server.ts";
import { isLoopback } from "../../lib/http/loopback.ts";
import { joinHostPort } from "../../lib/join-host-port.ts";
import type { Logger } from "../../lib/logger.ts";
import { createServingPair } from "../../lib/x509/certificate.ts";
import { createRequestAuthorizer } from "./auth/request-authorizer.ts";
import { handleRequest, type MonitorParts } from "./handle-request.ts";
import { createStaticFiles, findDashboardDir, securityHeaders } from "./static-files.ts";

export interface MonitorServerOptions {
  /**
   * Address to listen on; port 0 picks a free port. Loopback addresses serve HTTP without authentication, others serve
   * HTTPS and delegate authentication and authorization to the cluster.
   */
  readonly listen: { readonly host: string; readonly port: number };
  /** Sources of responses. Requests wait while the promise is pending. */
  readonly parts: MonitorParts | Promise<MonitorParts>;
  /** Client for TokenReviews and SubjectAccessReviews. */
  readonly client: Pick<Client, "request">;
  /** Serving certificate for addresses other than loopback. Default: a self-signed certificate. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** CA that signs client certificates. */
  readonly clientCa?: string | Buffer;
  /** Directory with the dashboard's files. Default: the one beside the command. */
  readonly dashboardDir?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface MonitorServer {
  readonly url: string;
  /** Closes the server, including open feeds. */
  close(): Promise<void>;
}

/** Serves the dashboard, its feed and the metrics. Rejects if the address cannot be bound. */
export async function startMonitorServer(options: MonitorServerOptions): Promise<MonitorServer> {
  const { listen, logger } = options;
  const isOnLoopback = isLoopback(listen.host);
  const deps = {
    listenHost: listen.host,
    authorizer: isOnLoopback
      ? undefined
      : createRequestAuthorizer({ client: options.client, clock: options.clock, logger }),
    serveFile: createStaticFiles(options.dashboardDir ?? findDashboardDir()),
    parts: options.parts,
    clock: options.clock,
  };
  // A rejection is reported to each request.
  Promise.resolve(deps.parts).catch(() => {});

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    handleRequest(deps, request, response).catch((error: unknown) => {
      logger.error("request failed", { method: request.method, path: request.url?.split("?")[0], error });
      // Closes the connection, so that a partial response is not taken for a complete one.
      if (response.headersSent) return void response.destroy();
      sendResponse(response, textResponse(500, "Internal error; see the monitor's log."));
    });
  };
  const tls = isOnLoopback ? undefined : tlsOf(options);
  const server = createHttpServer({ tls, maxConnections: 500, logger });
  server.on("request", onRequest);
  const { port, close } = await listenOn(server, listen);
  return { url: `${isOnLoopback ? "http" : "https"}://${joinHostPort(listen.host, port)}`, close };
}

function tlsOf({ listen: { host }, tls, clientCa, clock }: MonitorServerOptions) {
  const pair = tls ?? createServingPair({ commonName: "kindling-monitor", host, now: clock.now() });
  return { ...pair, clientCa };
}
