import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { messageOf } from "../../lib/message-of.ts";
import { type ConnectPort, type ForwardedConnection, forwardPort } from "./forward-port.ts";
import { acceptSpdyUpgrade, openSpdy, type SpdyStream } from "./spdy-connection.ts";

const protocols = ["portforward.k8s.io"];

/** Limit of forwarded connections at the same time; each has two streams. */
const maxConnections = 500;
/** Time in which a client must open the second stream of a connection, as in other runtimes. */
const pairTimeoutMs = 30_000;

/** Streams of one forwarded connection. Clients open both, in any order. */
interface Pair {
  readonly streams: { error?: SpdyStream; data?: SpdyStream };
  connection?: ForwardedConnection;
  /** Resolves when both streams are open. Rejects when the second one is missing for too long. */
  readonly complete: Promise<void>;
  completed(): void;
  /** Stops waiting for the second stream. */
  abandon(): void;
}

/** Forwards connections of a client that opens a data and an error stream for each. Resolves when the client is gone. */
export async function forwardOverSpdy(
  request: IncomingMessage,
  { socket, head, connect }: { socket: Socket; head: Buffer; connect: ConnectPort },
): Promise<void> {
  if (acceptSpdyUpgrade(request, socket, protocols) === undefined) return;
  const pairs = new Map<string, Pair>();
  const closed = new AbortController();
  const disconnected = once(socket, "close").then(() => closed.abort());

  function finish(id: string, problem?: string): void {
    const { data, error } = pairs.get(id)?.streams ?? {};
    pairs.delete(id);
    error?.end(problem === undefined ? undefined : Buffer.from(problem));
    // A reset means that the connection failed, not that it ended.
    if (problem === undefined) data?.end();
    else data?.reset();
  }

  function openPair(id: string): Pair {
    const pair = createPair(id);
    pairs.set(id, pair);
    pair.complete.catch((error: unknown) => finish(id, messageOf(error)));
    return pair;
  }

  openSpdy({
    socket,
    head,
    maxStreams: 2 * maxConnections,
    // A browser opens many connections one after the other.
    maxHeaderFrames: Number.POSITIVE_INFINITY,
    onOpen(stream) {
      const opened = readPortForwardHeaders(stream);
      if (!opened) return undefined;
      const { type, port, requestId } = opened;
      const pair = pairs.get(requestId) ?? openPair(requestId);
      if (pair.streams[type]) return undefined;
      pair.streams[type] = stream;
      if (pair.streams.data && pair.streams.error) pair.completed();
      // Nothing is read from error streams.
      if (type === "error") return { onData: () => {}, onEnd: () => {} };
      const connectWhenComplete: ConnectPort = (wanted) => pair.complete.then(() => connect(wanted));
      const connection = forwardPort(port, connectWhenComplete, {
        async write(chunk) {
          if (!stream.write(chunk)) await once(socket, "drain", { signal: closed.signal });
        },
        finish: (problem) => finish(requestId, problem),
      });
      pair.connection = connection;
      return {
        onData: connection.write,
        onEnd: (how) => (how === "reset" ? connection.destroy() : connection.end()),
      };
    },
  });
  await disconnected;
  for (const { abandon, connection } of pairs.values()) {
    abandon();
    connection?.destroy();
  }
}

function createPair(id: string): Pair {
  let resolve = () => {};
  let reject: (error: Error) => void = () => {};
  const complete = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  const timer = setTimeout(
    () => reject(new Error(`request ${id} timed out waiting for streams`)),
    pairTimeoutMs,
  );
  complete.finally(() => clearTimeout(timer)).catch(() => {});
  return {
    streams: {},
    complete,
    completed: () => resolve(),
    abandon: () => reject(new Error("the client has disconnected")),
  };
}

/** Headers of a stream of port-forward. Undefined if they are invalid. */
export function readPortForwardHeaders({
  id,
  headers,
}: Pick<SpdyStream, "id" | "headers">):
  | { readonly type: "data" | "error"; readonly port: number; readonly requestId: string }
  | undefined {
  const type = headers.get("streamtype");
  const port = headers.get("port") ?? "";
  const isPort = /^[0-9]{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536;
  if ((type !== "data" && type !== "error") || !isPort) return undefined;
  // Old clients do not number their connections, but open the error stream right before the data stream.
  const requestId = headers.get("requestid") || String(type === "error" ? id : id - 2);
  return { type, port: Number(port), requestId };
}
