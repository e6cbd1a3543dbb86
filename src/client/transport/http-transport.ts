import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { messageOf } from "../../lib/message-of.ts";
import type { ClusterAccess } from "../kubeconfig/cluster-access.ts";
import { impersonationHeaders } from "../kubeconfig/impersonation.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

export interface HttpTransportOptions {
  readonly access: ClusterAccess;
  /** Timeout for establishing a connection, including TLS. */
  readonly connectTimeoutMs?: number;
  /** Maximum time without data during a request. */
  readonly idleTimeoutMs?: number;
  /** Connection limit for requests; watches are not limited. */
  readonly maxConnections?: number;
}

/** Idle connections are closed before servers close them (120 s Kindling, 180 s upstream). */
const idleConnectionMs = 30_000;
/** Idle time before TCP keep-alive probes, ten at intervals of a second, detect a dead peer. */
const keepAliveAfterMs = 15_000;

export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { access, connectTimeoutMs = 10_000, idleTimeoutMs = 65_000, maxConnections = 64 } = options;
  const { server } = access;
  const secure = server.protocol === "https:";
  const createAgent = createAgentsFor(access);
  const callAgent = createAgent(maxConnections);
  const watchAgent = createAgent(Number.POSITIVE_INFINITY);
  const impersonation = access.impersonation && impersonationHeaders(access.impersonation);
  const basePath = server.pathname.replace(/\/+$/, "");
  let closed = false;

  function open(request: TransportRequest, token: string | undefined): ClientRequest {
    const { method, path, headers, body, longLived, signal } = request;
    return (secure ? httpsRequest : httpRequest)({
      agent: longLived ? watchAgent : callAgent,
      protocol: server.protocol,
      // The URL has IPv6 addresses in brackets, the socket expects them without.
      hostname: server.hostname.replace(/^\[|\]$/g, ""),
      port: server.port || (secure ? 443 : 80),
      method,
      path: basePath + path,
      timeout: idleTimeoutMs,
      headers: {
        ...headers,
        ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...impersonation,
      },
      signal,
    });
  }

  async function attempt(request: TransportRequest, token: string | undefined): Promise<TransportResponse> {
    const name = `${request.method} ${server.origin}${basePath}${request.path}`;
    let silent = false;
    const fail = (error: unknown): never => {
      request.signal?.throwIfAborted();
      throw toTransportError(name, error, { unreachable: !incoming && !silent });
    };
    const outgoing = open(request, token);
    outgoing.once("socket", (socket) => limitConnecting(socket, { secure, connectTimeoutMs }));
    let incoming: IncomingMessage | undefined;
    outgoing.on("timeout", () => {
      silent = true;
      (incoming ?? outgoing).destroy(new Error(`no data received for ${idleTimeoutMs / 1_000} s`));
    });
    try {
      incoming = await awaitResponse(outgoing, request.body);
      if (request.longLived) incoming.socket.setTimeout(0);
      return toResponse(incoming, fail);
    } catch (error) {
      // The server closed the pooled connection before it received the request.
      if (request.method === "GET" && outgoing.reusedSocket && isReset(error)) return attempt(request, token);
      return fail(error);
    }
  }

  return {
    async send(request) {
      const token = await access.token?.();
      request.signal?.throwIfAborted();
      if (closed) throw new TransportError(`the client for ${server.origin} is closed`);
      return attempt(request, token);
    },
    close() {
      closed = true;
      callAgent.destroy();
      watchAgent.destroy();
    },
  };
}

function createAgentsFor({ server, tls }: ClusterAccess): (maxSockets: number) => HttpAgent {
  const pool = {
    keepAlive: true,
    keepAliveMsecs: keepAliveAfterMs,
    timeout: idleConnectionMs,
    scheduling: "lifo",
  } as const;
  if (server.protocol === "http:") return (maxSockets) => new HttpAgent({ ...pool, maxSockets });
  // Shared by all connections: parsing certificates and keys takes half of the time of opening one.
  const secureContext = createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key });
  const { serverName: servername, insecure } = tls;
  return (maxSockets) =>
    new HttpsAgent({ ...pool, maxSockets, secureContext, servername, rejectUnauthorized: !insecure });
}

function limitConnecting(socket: Socket, limit: { secure: boolean; connectTimeoutMs: number }): void {
  if (!socket.connecting) return;
  const timer = setTimeout(() => {
    socket.destroy(
      new Error(`the connection was not established within ${limit.connectTimeoutMs / 1_000} s`),
    );
  }, limit.connectTimeoutMs);
  const stop = () => clearTimeout(timer);
  socket.once(limit.secure ? "secureConnect" : "connect", stop);
  socket.once("close", stop);
}

function awaitResponse(outgoing: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function toResponse(incoming: IncomingMessage, fail: (error: unknown) => never): TransportResponse {
  // Errors are reported to the reader of the body; errors before or after that must not crash the process.
  incoming.on("error", () => {});
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers)) headers[name] = value?.toString();

  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of incoming) yield chunk;
    } catch (error) {
      fail(error);
    }
  }

  return {
    status: incoming.statusCode ?? 0,
    headers,
    chunks,
    async text() {
      const parts: Uint8Array[] = [];
      for await (const chunk of chunks()) parts.push(chunk);
      try {
        return Buffer.concat(parts).toString();
      } catch (error) {
        return fail(error);
      }
    },
  };
}

function isReset(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

function toTransportError(
  name: string,
  error: unknown,
  { unreachable }: { readonly unreachable: boolean },
): TransportError {
  if (error instanceof TransportError) return error;
  return new TransportError(`${name}: ${describe(error)}`, { cause: error, unreachable });
}

/** An AggregateError (all addresses of a host failed) has no message. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && !error.message) return error.errors.map(describe).join("; ");
  return messageOf(error);
}
