import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that the client sent after its request. */
  readonly head: Buffer;
}

/**
 * Accepts a WebSocket. `protocols` are the supported subprotocols in order of preference. `maxMessageBytes` limits the
 * messages of the client; the default is for clients whose messages are discarded. Resolves with undefined for an
 * invalid handshake, which is answered with 400.
 */
export async function acceptWebSocket(
  { request, socket, head }: Upgrade,
  protocols: readonly string[] = [],
  { maxMessageBytes = 64 * 1_024 }: { readonly maxMessageBytes?: number } = {},
): Promise<WebSocket | undefined> {
  // Loaded on first use, because few clients use WebSockets.
  const { WebSocketServer } = await import("ws");
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    autoPong: false,
    handleProtocols: (offered) => protocols.find((name) => offered.has(name)) ?? false,
  });
  let accepted: WebSocket | undefined;
  // Calls back synchronously, or not at all if the handshake is invalid.
  server.handleUpgrade(request, socket, head, (webSocket) => {
    accepted = webSocket;
    webSocket.on("error", () => webSocket.terminate());
    // A client that does not read its pongs gets none, so that they do not accumulate.
    webSocket.on("ping", (data) => {
      if (!socket.writableNeedDrain) webSocket.pong(data);
    });
  });
  return accepted;
}

export function isWebSocketRequest({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}
