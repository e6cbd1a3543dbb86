import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { stoppable } from "../../lib/stoppable.ts";
import { lengthOf } from "../forward/exchange.ts";
import { maxQueryBytes, parseQuery } from "../wire/query.ts";
import { maxTcpBytes } from "../wire/response.ts";
import { type Answerer, rejectionOf } from "./answerer.ts";
import type { ListenerMetrics } from "./dns-metrics.ts";
import type { ListenAddress, Listener, ListenerDeps } from "./udp-server.ts";

const maxConnections = 512;
const idleTimeoutMs = 10_000;
/** Maximum number of queries of a connection that wait for an answer; further ones are read afterwards. */
const maxPending = 16;
/** Unsent bytes from which on no further queries are read. */
const maxUnsentBytes = 256 * 1_024;

/** Serves DNS over TCP: messages with a length prefix, several on one connection (RFC 7766). */
export async function serveTcp(
  { host, port }: ListenAddress,
  { answerer, isAllowed, metrics, logger }: Omit<ListenerDeps, "generation">,
): Promise<Listener> {
  // Half open, so that a client that has sent its last query still gets the response.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    if (!isAllowed(socket.remoteAddress ?? "")) {
      metrics.dropped();
      socket.destroy();
      return;
    }
    serveConnection(socket, { answerer, metrics }).catch((error: unknown) => {
      logger.debug("a DNS connection failed", { error });
      socket.destroy();
    });
  });
  server.maxConnections = maxConnections;
  const stop = stoppable(server);
  server.listen({ host, port });
  await once(server, "listening");
  server.on("error", (error) => logger.warn("the DNS server reported an error", { error }));
  return { port: (server.address() as AddressInfo).port, close: stop };
}

async function serveConnection(
  socket: Socket,
  { answerer, metrics }: { readonly answerer: Answerer; readonly metrics: ListenerMetrics },
): Promise<void> {
  socket.setTimeout(idleTimeoutMs, () => socket.destroy());
  const pending = new Set<Promise<void>>();

  async function answer(message: Buffer): Promise<void> {
    const startedAt = performance.now();
    const parsed = parseQuery(message);
    if (parsed.kind !== "query") {
      metrics.dropped();
      const rejection = rejectionOf(message, parsed);
      if (rejection) send(rejection);
      else socket.destroy();
      return;
    }
    const { query } = parsed;
    const answered = await answerer.answer(query, maxTcpBytes);
    send(answered.message);
    const observe = metrics.seriesOf({ ...answered, type: query.type });
    observe(message.length, answered.message.length, (performance.now() - startedAt) / 1_000);
  }

  function send(message: Buffer): void {
    if (!socket.destroyed) socket.write(Buffer.concat([lengthOf(message), message]));
  }

  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2) {
      const length = received.readUInt16BE(0);
      // A longer message is not a query; what follows it cannot be trusted.
      if (length > maxQueryBytes) return void socket.destroy();
      if (received.length < length + 2) break;
      const message = Buffer.from(received.subarray(2, length + 2));
      received = received.subarray(length + 2);
      const answering: Promise<void> = answer(message).finally(() => pending.delete(answering));
      pending.add(answering);
      if (pending.size >= maxPending) await Promise.race(pending);
      if (socket.writableLength > maxUnsentBytes) await once(socket, "drain");
    }
  }
  await Promise.all(pending);
  socket.end();
}
