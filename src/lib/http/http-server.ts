import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Logger } from "../logger.ts";
import { stoppable } from "../stoppable.ts";

export interface HttpServerOptions {
  /** Serves HTTPS if set, otherwise HTTP. */
  readonly tls?: {
    readonly cert: string | Buffer;
    readonly key: string | Buffer;
    /** CA that signs client certificates. */
    readonly clientCa?: string | Buffer | undefined;
  };
  readonly maxConnections: number;
  readonly logger: Logger;
}

/**
 * Time that a client may take for its headers, counted from the connection or from the first byte of a later request.
 * Node.js checks only every 30 s by default, so that headers could take 50 s.
 */
export const headerLimits = { headersTimeout: 20_000, connectionsCheckingInterval: 1_000 } as const;
/** Time that a client may take for its TLS handshake. */
export const handshakeTimeout = 20_000;

/** Creates an HTTP(S) server with header, body and idle timeouts. Throws for invalid certificates. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { tls, maxConnections, logger } = options;
  const limits = {
    // Clients that send their headers or body too slowly are disconnected.
    ...headerLimits,
    requestTimeout: 30_000,
    keepAliveTimeout: 90_000,
    maxHeaderSize: 32 * 1_024,
    // Detects dead connections.
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
    handshakeTimeout,
    // Without our CA, certificates of all public CAs would be accepted.
    ...(clientCa && { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
  };
}

/** Starts listening; port 0 selects a free port. Rejects when listening fails. `close` also closes open connections. */
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
