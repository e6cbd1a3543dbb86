import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Logger } from "../logger.ts";
import { stoppable } from "../stoppable.ts";

export interface HttpServerOptions {
  /** By HTTPS with it, by HTTP without. */
  readonly tls?: {
    readonly cert: string | Buffer;
    readonly key: string | Buffer;
    /** Who shows a certificate of it is known by that. */
    readonly clientCa?: string | Buffer | undefined;
  };
  readonly maxConnections: number;
  readonly logger: Logger;
}

/** A server that clients cannot hold on to. Throws for certificates that are no good. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { tls, maxConnections, logger } = options;
  const limits = {
    // A client that dawdles over its headers or body is cut off.
    headersTimeout: 20_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 90_000,
    maxHeaderSize: 32 * 1_024,
    // A client that vanished without a word is noticed.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    noDelay: true,
  };
  const server = tls ? createSecureServer({ ...limits, ...tlsOptions(tls) }) : createServer(limits);
  server.maxConnections = maxConnections;
  server.on("tlsClientError", (error) => logger.debug("TLS handshake failed", { error }));
  return server;
}

function tlsOptions({ cert, key, clientCa }: NonNullable<HttpServerOptions["tls"]>) {
  return {
    cert,
    key,
    minVersion: "TLSv1.2" as const,
    // Without a CA of ours, certificates of every public one would be good.
    ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
  };
}

/** Port 0 picks one. Rejects when it cannot listen there. What it is closed with ends open connections too. */
export async function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const close = stoppable(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close };
}
