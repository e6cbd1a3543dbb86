import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { networkInterfaces } from "node:os";
import type { Duplex } from "node:stream";
import { badRequest } from "../../../api/meta/status-error.ts";
import { handshakeTimeout, headerLimits } from "../../../lib/http/http-server.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { RequestAuthorizer } from "../../auth/request-authorizer.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";
import type { UnreadMemory } from "../../limits/unread-memory.ts";
import { parseRequest, splitUrl } from "../../request/request-info.ts";
import { toStatusError } from "../../request/to-status-error.ts";
import type { Middleware, MiddlewareDeps } from "../middleware.ts";
import { HttpExchange } from "./http-exchange.ts";
import { rejectUpgrade } from "./respond.ts";
import { createWebSocketWatch, isWebSocketWatch } from "./web-socket-watch.ts";

interface ListenerDeps {
  readonly tls: Pick<ServerOptions, "cert" | "key" | "ca">;
  readonly logger: Logger;
  readonly kinds: KindRegistry;
  readonly authenticateAndAuthorize: RequestAuthorizer["authenticateAndAuthorize"];
  readonly middleware: Middleware;
  readonly memory: UnreadMemory;
  readonly proxy: MiddlewareDeps["proxy"];
}

/** The HTTPS server: passes requests to the middleware, and upgrades to the kubelet proxy or to a watch. */
export function createApiListener(deps: ListenerDeps): Server {
  const { logger, middleware, memory, authenticateAndAuthorize } = deps;
  const context = { authenticateAndAuthorize, memory };

  function handle(request: IncomingMessage, response: ServerResponse): void {
    void middleware(new HttpExchange(request, response, context));
  }

  const server = createServer(
    {
      ...deps.tls,
      // Client certificates are optional: clients without one may have a token.
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      // Bound the time that a client may take to send its headers and its body.
      ...headerLimits,
      handshakeTimeout,
      requestTimeout: 60_000,
      keepAliveTimeout: 120_000,
      maxHeaderSize: 32 * 1_024,
      // Detects clients of a watch or an exec that vanished without closing the connection.
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    },
    (request, response) => {
      if (response.socket) handle(request, response);
      // The response to an earlier request on the connection is still being sent. Handling this one later means that its
      // response does not wait in memory.
      else response.once("socket", () => setImmediate(handle, request, response));
    },
  );
  server.on("secureConnection", (socket) => {
    memory.add(socket);
    socket.once("close", () => memory.remove(socket));
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void upgrade(request, socket, head);
  });
  server.on("tlsClientError", (error) => logger.debug("TLS handshake failed", { error }));

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", (error) => logger.debug("upgraded connection failed", { error }));
    try {
      const { path, query } = splitUrl(request.url ?? "/");
      const info = parseRequest(deps.kinds, request.method ?? "GET", path, query);
      if (!info) throw badRequest("the path of the request is not valid percent-encoding");
      if (isWebSocketWatch(request, info)) {
        await middleware(createWebSocketWatch({ request, socket, head }, context));
        return;
      }
      const user = await authenticateAndAuthorize(request, info, query);
      const proxy = deps.proxy(info, user);
      if (!proxy) throw badRequest("this path does not take an upgrade");
      memory.remove(request.socket);
      await proxy.upgrade(request, socket, head);
    } catch (error) {
      rejectUpgrade(socket, toStatusError(error));
    }
  }
  return server;
}

/** Address of the API server. The port is known once the server listens. */
export interface ListenAddress {
  /** Kubelets of a one-machine cluster listen on loopback. A server that other machines reach must not connect there. */
  readonly isLoopback: boolean;
  /**
   * Address of the `kubernetes` service's endpoints. As upstream, an address of the machine if the server listens on
   * loopback or on all addresses; undefined if the machine has none.
   */
  readonly advertised: string | undefined;
  readonly port: number;
  /** `127.0.0.1:6443` */
  hostPort(): string;
  /** `https://127.0.0.1:6443` */
  url(): string;
  listen(server: Server): Promise<void>;
}

export function createListenAddress(wanted: { readonly host: string; readonly port: number }): ListenAddress {
  const { host } = wanted;
  let { port } = wanted;
  const hostPort = () => `${formatHost(host)}:${port}`;
  return {
    isLoopback: isLoopback(host),
    advertised: advertisedAddress(host),
    get port() {
      return port;
    },
    hostPort,
    url: () => `https://${hostPort()}`,
    async listen(server) {
      port = await listen(server, wanted);
    },
  };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") return reject(error);
      reject(
        new Error(
          `port ${port} of ${host} is in use by another process; choose another with --listen ${host}:PORT`,
          { cause: error },
        ),
      );
    });
    server.listen({ host, port, backlog: 4_096 }, () => {
      server.removeAllListeners("error");
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Accepts connections for the server on a free port of another address. */
export async function listenAlso(
  server: Server,
  host: string,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const other = createTcpServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }, (socket) =>
    server.emit("connection", socket),
  );
  const port = await new Promise<number>((resolve, reject) => {
    other.once("error", reject);
    other.listen({ host, port: 0, backlog: 4_096 }, () => resolve((other.address() as AddressInfo).port));
  });
  // Its connections belong to the server, which closes them.
  const close = () =>
    new Promise<void>((resolve) => {
      other.close(() => resolve());
    });
  return { port, close };
}

function advertisedAddress(host: string): string | undefined {
  if (!isLoopback(host) && host !== "0.0.0.0" && host !== "::") return host;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ internal, family }) => !internal && family === "IPv4")?.address;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** A host as it is written in a URL. The unspecified address becomes the loopback address. */
function formatHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
