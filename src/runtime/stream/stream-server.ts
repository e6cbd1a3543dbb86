import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "../../lib/logger.ts";
import { stoppable } from "../../lib/stoppable.ts";
import { acceptSpdy } from "./spdy-session.ts";
import type { OfferedStreams, StreamSession } from "./stream-session.ts";
import { acceptWebSocket } from "./web-socket-session.ts";

/** Serves exec and attach: the CRI call answers with an address that works once, and the client connects there. */
export interface StreamServer {
  /** The address for one connection, which `serve` then has until it resolves. */
  offer(path: "exec" | "attach", options: StreamOffer): string;
  close(): Promise<void>;
}

interface StreamOffer {
  readonly streams: OfferedStreams;
  serve(session: StreamSession): Promise<void>;
}

/** As in other runtimes: who does not come within this time has to ask again. */
const offerLifetimeMs = 60_000;
const mostOffers = 1_000;
/** How long a client may take to read what is left once it is over. */
const lingerMs = 10_000;

/** On loopback only: whoever can reach the port still needs the token. */
export async function startStreamServer({ logger }: { logger: Logger }): Promise<StreamServer> {
  const offers = new Map<string, StreamOffer & { expires: NodeJS.Timeout }>();
  const server = createServer((_request, response) => {
    response.writeHead(426).end("exec and attach are spoken over WebSocket or SPDY/3.1\n");
  });

  function take(request: IncomingMessage): StreamOffer | undefined {
    const token = request.url?.split(/[/?]/)[2] ?? "";
    const offer = offers.get(token);
    offers.delete(token);
    clearTimeout(offer?.expires);
    return offer;
  }

  server.on("upgrade", (request, socket: Socket, head) => {
    socket.on("error", () => socket.destroy());
    const offer = take(request);
    if (!offer) {
      socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    socket.setNoDelay(true);
    serve(offer, { request, socket, head })
      .catch((error: unknown) => {
        logger.warn("a stream failed", { path: request.url?.split("/")[1], error });
        socket.destroy();
      })
      .finally(() => {
        const late = setTimeout(() => socket.destroy(), lingerMs);
        socket.once("close", () => clearTimeout(late));
      });
  });
  const stop = stoppable(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    offer(path, offer) {
      const [oldest] = offers.size >= mostOffers ? offers.keys() : [];
      if (oldest !== undefined) offers.delete(oldest);
      const token = randomBytes(24).toString("base64url");
      const expires = setTimeout(() => offers.delete(token), offerLifetimeMs).unref();
      offers.set(token, { ...offer, expires });
      return `http://127.0.0.1:${port}/${path}/${token}`;
    },
    async close() {
      for (const { expires } of offers.values()) clearTimeout(expires);
      await stop();
    },
  };
}

async function serve(
  { serve, streams }: StreamOffer,
  { request, socket, head }: { request: IncomingMessage; socket: Socket; head: Buffer },
): Promise<void> {
  const isSpdy = request.headers.upgrade?.toLowerCase() === "spdy/3.1";
  const session = isSpdy
    ? await acceptSpdy(request, { socket, head, streams })
    : acceptWebSocket(request, socket, head);
  if (session) await serve(session);
}
