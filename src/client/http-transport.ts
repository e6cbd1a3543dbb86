import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { messageOf } from "../lib/message-of.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

export interface HttpTransportOptions {
  readonly access: ClusterAccess;
  /** Until a connection is up, TLS included. */
  readonly connectTimeoutMs?: number;
  /** How long a call may go without a byte. */
  readonly idleTimeoutMs?: number;
  /** Of calls; watches come on top. */
  readonly maxConnections?: number;
}

/** Connections without traffic close sooner than servers close them (120 s ours, 180 s upstream's). */
const spareLifeMs = 30_000;
/** A peer that has vanished is found by TCP: this long in silence, then ten probes a second apart. */
const keepAliveAfterMs = 15_000;

export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { access, connectTimeoutMs = 10_000, idleTimeoutMs = 65_000, maxConnections = 64 } = options;
  const { server } = access;
  const secure = server.protocol === "https:";
  const createAgent = createAgentsFor(access);
  const callAgent = createAgent(maxConnections);
  const watchAgent = createAgent(Number.POSITIVE_INFINITY);
  const basePath = server.pathname.replace(/\/+$/, "");
  let closed = false;

  function open(request: TransportRequest, token: string | undefined): ClientRequest {
    const { method, path, headers, body, longLived, signal } = request;
    return (secure ? httpsRequest : httpRequest)({
      agent: longLived ? watchAgent : callAgent,
      protocol: server.protocol,
      // A URL writes IPv6 addresses in brackets, a socket wants them without.
      hostname: server.hostname.replace(/^\[|\]$/g, ""),
      port: server.port || (secure ? 443 : 80),
      method,
      path: basePath + path,
      timeout: idleTimeoutMs,
      headers: {
        ...headers,
        ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
        ...(token && { authorization: `Bearer ${token}` }),
      },
      signal,
    });
  }

  async function attempt(request: TransportRequest, token: string | undefined): Promise<TransportResponse> {
    const name = `${request.method} ${server.origin}${basePath}${request.path}`;
    const fail = (error: unknown): never => {
      request.signal?.throwIfAborted();
      throw toTransportError(name, error);
    };
    const outgoing = open(request, token);
    outgoing.once("socket", (socket) => limitConnecting(socket, { secure, connectTimeoutMs }));
    let incoming: IncomingMessage | undefined;
    outgoing.on("timeout", () =>
      (incoming ?? outgoing).destroy(new Error(`nothing came for ${idleTimeoutMs / 1_000} s`)),
    );
    try {
      incoming = await answerTo(outgoing, request.body);
      if (request.longLived) incoming.socket.setTimeout(0);
      return toResponse(incoming, fail);
    } catch (error) {
      // The server closed a spare connection just as it was taken: nothing has been read on it.
      if (request.method === "GET" && outgoing.reusedSocket && isReset(error)) return attempt(request, token);
      return fail(error);
    }
  }

  return {
    async send(request) {
      const token = await access.token?.();
      request.signal?.throwIfAborted();
      if (closed) throw new TransportError(`the connection to ${server.origin} is closed`);
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
    timeout: spareLifeMs,
    scheduling: "lifo",
  } as const;
  if (server.protocol === "http:") return (maxSockets) => new HttpAgent({ ...pool, maxSockets });
  // Once for all connections: reading certificates and keys costs as much as the rest of opening one.
  const secureContext = createSecureContext({ ca: tls.ca, cert: tls.cert, key: tls.key });
  const { serverName: servername, insecure } = tls;
  return (maxSockets) =>
    new HttpsAgent({ ...pool, maxSockets, secureContext, servername, rejectUnauthorized: !insecure });
}

function limitConnecting(socket: Socket, limit: { secure: boolean; connectTimeoutMs: number }): void {
  if (!socket.connecting) return;
  const timer = setTimeout(() => {
    socket.destroy(new Error(`not connected within ${limit.connectTimeoutMs / 1_000} s`));
  }, limit.connectTimeoutMs);
  const stop = () => clearTimeout(timer);
  socket.once(limit.secure ? "secureConnect" : "connect", stop);
  socket.once("close", stop);
}

function answerTo(outgoing: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function toResponse(incoming: IncomingMessage, fail: (error: unknown) => never): TransportResponse {
  // Whoever reads the body hears of an error there; one that comes before or after must not end the process.
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

function toTransportError(name: string, error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  return new TransportError(`${name}: ${describe(error)}`, { cause: error });
}

/** When every address of a host fails, the error of them all has no message of its own. */
function describe(error: unknown): string {
  if (error instanceof AggregateError && !error.message) return error.errors.map(describe).join("; ");
  return messageOf(error);
}
