import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { type ConnectPort, type ForwardedConnection, forwardPort } from "./forward-port.ts";

const protocols = ["v4.channel.k8s.io", "v4.base64.channel.k8s.io"];

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  // Pongs are not sent to a client that does not read them.
  autoPong: false,
  maxPayload: 16 * 1_024 * 1_024,
  maxFragments: 16 * 1_024,
  handleProtocols: (offered) => protocols.find((name) => offered.has(name)) ?? false,
});

interface WebSocketUpgrade {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly ports: readonly number[];
  readonly connect: ConnectPort;
}

/**
 * Forwards one connection for each port. Port n has the channels 2n (data) and 2n+1 (errors); each starts with the
 * number of the port, in two bytes. Resolves when the client is gone.
 */
export async function forwardOverWebSocket(
  request: IncomingMessage,
  { socket, head, ports, connect }: WebSocketUpgrade,
): Promise<void> {
  const offered = request.headers["sec-websocket-protocol"];
  const isKnown = !offered || offered.split(",").some((name) => protocols.includes(name.trim()));
  if (!isKnown || ports.length === 0) {
    const problem = isKnown ? "the ports are missing" : `the protocol must be ${protocols.join(" or ")}`;
    socket.end(`HTTP/1.1 400 Bad Request\r\nContent-Length: ${problem.length}\r\n\r\n${problem}`);
    return;
  }
  const disconnected = once(socket, "close");
  server.handleUpgrade(request, socket, head, (webSocket) => forward(webSocket, { socket, ports, connect }));
  await disconnected;
}

function forward(
  webSocket: WebSocket,
  { socket, ports, connect }: Pick<WebSocketUpgrade, "socket" | "ports" | "connect">,
): void {
  const isBase64 = webSocket.protocol === "v4.base64.channel.k8s.io";
  const gone = new AbortController();
  socket.once("close", () => gone.abort());

  async function send(channel: number, data: Buffer): Promise<void> {
    if (webSocket.readyState !== webSocket.OPEN) return;
    webSocket.send(
      isBase64 ? `${channel}${data.toString("base64")}` : Buffer.concat([Buffer.from([channel]), data]),
    );
    if (socket.writableNeedDrain) await once(socket, "drain", { signal: gone.signal });
  }

  let open = ports.length;
  const connections = ports.map((port, i): ForwardedConnection => {
    const number = Buffer.alloc(2);
    number.writeUInt16LE(port);
    for (const channel of [2 * i, 2 * i + 1]) void send(channel, number).catch(() => {});
    return forwardPort(port, connect, {
      write: (data) => send(2 * i, data),
      finish(problem) {
        if (problem !== undefined) void send(2 * i + 1, Buffer.from(problem)).catch(() => {});
        open--;
        if (open > 0) return;
        webSocket.close(1000);
        socket.end();
      },
    });
  });
  socket.once("close", () => {
    for (const connection of connections) connection.destroy();
  });

  async function receive(payload: Buffer): Promise<void> {
    const channel = isBase64 ? Number(payload.toString("latin1", 0, 1)) : (payload[0] ?? 0);
    const data = isBase64 ? Buffer.from(payload.toString("latin1", 1), "base64") : payload.subarray(1);
    const connection = channel % 2 === 0 ? connections[channel / 2] : undefined;
    if (data.length > 0) await connection?.write(data);
  }
  webSocket.on("message", (data: RawData) => {
    if (!Buffer.isBuffer(data)) return;
    // No more is read until the pod has taken it.
    webSocket.pause();
    void receive(data).finally(() => webSocket.resume());
  });
  webSocket.on("ping", (data) => {
    if (!socket.writableNeedDrain) webSocket.pong(data);
  });
  webSocket.on("error", () => webSocket.terminate());
}
