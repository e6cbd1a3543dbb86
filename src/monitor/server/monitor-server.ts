import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client } from "../../client/client.ts";
import type { Clock } from "../../lib/clock.ts";
import { sendAnswer, textAnswer } from "../../lib/http/answer.ts";
import { createHttpServer, listenOn } from "../../lib/http/http-server.ts";
import { isLoopback } from "../../lib/http/loopback.ts";
import { joinHostPort } from "../../lib/join-host-port.ts";
import type { Logger } from "../../lib/logger.ts";
import { createServingPair } from "../../lib/x509/self-signed.ts";
import { answerRequest, type MonitorParts } from "./answer-request.ts";
import { createGate } from "./auth/gate.ts";
import { findPage } from "./find-page.ts";
import { createPageFiles } from "./page-files.ts";
import { securityHeaders } from "./security-headers.ts";

export interface MonitorServerOptions {
  /** Port 0 picks one. On loopback everybody is let in; elsewhere it is HTTPS, and the cluster says who and what for. */
  readonly listen: { readonly host: string; readonly port: number };
  /** May still be loading: whoever asks in the meantime waits. */
  readonly parts: MonitorParts | Promise<MonitorParts>;
  /** Answers who callers are and what they may do. */
  readonly client: Pick<Client, "request">;
  /** Elsewhere than on loopback; a certificate that signs itself is made when there is none. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Who shows a certificate of it is known by that. */
  readonly clientCa?: string | Buffer;
  /** The directory of the page's files; beside the command unless told. */
  readonly page?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface MonitorServer {
  readonly url: string;
  /** Ends feeds that are open too. */
  close(): Promise<void>;
}

/** Serves the page, what it shows, and the metrics. Rejects when it cannot listen there. */
export async function startMonitorServer(options: MonitorServerOptions): Promise<MonitorServer> {
  const { listen, logger } = options;
  const isOpen = isLoopback(listen.host);
  const deps = {
    listenHost: listen.host,
    gate: isOpen ? undefined : createGate(options),
    answerFile: createPageFiles(options.page ?? findPage()),
    parts: options.parts,
    clock: options.clock,
  };
  // Whoever asks hears of it.
  Promise.resolve(deps.parts).catch(() => {});

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    answerRequest(deps, request, response).catch((error: unknown) => {
      logger.error("request failed", { method: request.method, path: request.url?.split("?")[0], error });
      // Half an answer is cut off, so that nobody takes it for a whole one.
      if (response.headersSent) return void response.destroy();
      sendAnswer(response, textAnswer(500, "It failed; the log has more."));
    });
  };
  const tls = isOpen ? undefined : tlsOf(options);
  const server = createHttpServer({ tls, maxConnections: 500, logger });
  server.on("request", onRequest);
  const { port, close } = await listenOn(server, listen);
  return { url: `${isOpen ? "http" : "https"}://${joinHostPort(listen.host, port)}`, close };
}

function tlsOf({ listen: { host }, tls, clientCa, clock }: MonitorServerOptions) {
  const pair = tls ?? createServingPair({ commonName: "kindling-monitor", host, now: clock.now() });
  return { ...pair, clientCa };
}
