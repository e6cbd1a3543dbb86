import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "../../lib/logger.ts";
import { stoppable } from "../../lib/stoppable.ts";
import { createTaskGroup } from "../../lib/task-group.ts";
import type { ConnectPort } from "./forward-port.ts";
import { forwardOverSpdy } from "./spdy-port-forward.ts";
import { acceptSpdy } from "./spdy-session.ts";
import type { OfferedStreams, StreamSession } from "./stream-session.ts";

/** Serves exec, attach and port-forward: the CRI call returns a URL that works once, to which the client connects. */
export interface StreamServer {
  /** Returns the URL of one connection, which `serve` then handles. */
  offer(path: "exec" | "attach", options: ProcessOffer): string;
  /** Returns the URL of one connection, over which the client forwards any number of connections. */
  offerPortForward(options: PortForwardOffer): string;
  /** Disconnects the clients and resolves when their processes have been killed or detached. */
  close(): Promise<void>;
}

interface ProcessOffer {
  readonly streams: OfferedStreams;
  serve(session: StreamSession): Promise<void>;
}

interface PortForwardOffer {
  /** Ports that a client over WebSocket forwards. Over SPDY the client names the ports itself. */
  readonly ports: readonly number[];
  readonly connect: ConnectPort;
  /** Called when the client has disconnected. */
  close(): void;
}

/** Upgraded connection of a client. */
interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

type Serve = (upgrade: Upgrade) => Promise<void>;

/** Lifetime of a URL, as in other runtimes. */
const offerLifetimeMs = 60_000;
const maxOffers = 1_000;
/** Time for a client to read remaining data after the end. */
const lingerMs = 10_000;

/** Starts the server on loopback. Clients that can reach the port still need the token. */
export async function startStreamServer({ logger }: { logger: Logger }): Promise<StreamServer> {
  const sessions = createTaskGroup();
  const offers = new Map<string, { serve: Serve; expires: NodeJS.Timeout }>();
  const server = createServer((_request, response) => {
    response.writeHead(426).end("exec, attach and port-forward require WebSocket or SPDY/3.1\n");
  });

  function take(request: IncomingMessage): Serve | undefined {
    const token = request.url?.split(/[/?]/)[2] ?? "";
    const offer = offers.get(token);
    offers.delete(token);
    clearTimeout(offer?.expires);
    return offer?.serve;
  }

  server.on("upgrade", (request, socket: Socket, head) => {
    socket.on("error", () => socket.destroy());
    const serve = take(request);
    if (!serve) {
      socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    socket.setNoDelay(true);
    const session = serve({ request, socket, head })
      .catch((error: unknown) => {
        logger.warn("a stream failed", { path: request.url?.split("/")[1], error });
        socket.destroy();
      })
      .finally(() => {
        if (socket.destroyed) return;
        const late = setTimeout(() => socket.destroy(), lingerMs);
        socket.once("close", () => clearTimeout(late));
      });
    sessions.add(session);
  });
  const stop = stoppable(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  function add(path: string, serve: Serve): string {
    const [oldest] = offers.size >= maxOffers ? offers.keys() : [];
    if (oldest !== undefined) offers.delete(oldest);
    const token = randomBytes(24).toString("base64url");
    const expires = setTimeout(() => offers.delete(token), offerLifetimeMs).unref();
    offers.set(token, { serve, expires });
    return `http://127.0.0.1:${port}/${path}/${token}`;
  }

  return {
    offer: (path, offer) => add(path, (upgrade) => serveProcess(offer, upgrade)),
    offerPortForward: (offer) =>
      add("portforward", (upgrade) => servePortForward(offer, upgrade).finally(offer.close)),
    async close() {
      for (const { expires } of offers.values()) clearTimeout(expires);
      await stop();
      await sessions.settled();
    },
  };
}

function isSpdy({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "spdy/3.1";
}

// The WebSocket modules are loaded on first use: a runtime starts without them.

async function serveProcess({ serve, streams }: ProcessOffer, upgrade: Upgrade): Promise<void> {
  const { request, socket, head } = upgrade;
  const session = isSpdy(request)
    ? await acceptSpdy(request, { socket, head, streams })
    : (await import("./web-socket-session.ts")).acceptWebSocket(request, socket, head);
  if (session) await serve(session);
}

async function servePortForward({ ports, connect }: PortForwardOffer, upgrade: Upgrade): Promise<void> {
  const { request, socket, head } = upgrade;
  if (isSpdy(request)) return forwardOverSpdy(request, { socket, head, connect });
  const { forwardOverWebSocket } = await import("./web-socket-port-forward.ts");
  return forwardOverWebSocket(request, { socket, head, ports, connect });
}
