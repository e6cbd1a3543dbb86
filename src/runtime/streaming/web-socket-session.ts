import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import {
  createSizeRelay,
  failureMessage,
  isSuccess,
  outcomeStatus,
  parseTerminalSize,
  type StreamOutcome,
  type StreamSession,
} from "./stream-session.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** How a subprotocol encodes messages and reports the outcome. */
interface Protocol {
  /** Messages are text: the digit of the channel, then base64. Otherwise binary: the byte of the channel, then the data. */
  readonly isBase64: boolean;
  /** The error channel carries a `Status`; without it, only the message of a failure. */
  readonly hasStatus: boolean;
}

/** Supported subprotocols in upstream's order of preference. Only v5 can close standard input. */
const protocols = new Map<string, Protocol>([
  ["v5.channel.k8s.io", { isBase64: false, hasStatus: true }],
  ["v4.channel.k8s.io", { isBase64: false, hasStatus: true }],
  ["v4.base64.channel.k8s.io", { isBase64: true, hasStatus: true }],
  ["channel.k8s.io", { isBase64: false, hasStatus: false }],
  ["base64.channel.k8s.io", { isBase64: true, hasStatus: false }],
]);
const names = [...protocols.keys()];

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  // Sent by the session, which stops reading when the client does not read its pongs.
  autoPong: false,
  maxPayload: 16 * 1_024 * 1_024,
  // Fragments take memory even if they are empty.
  maxFragments: 16 * 1_024,
  handleProtocols: (offered) => names.find((name) => offered.has(name)) ?? false,
});

/**
 * Accepts the handshake. Rejects the connection and returns undefined if the handshake is invalid or the client supports
 * none of the protocols.
 */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): StreamSession | undefined {
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  if (!names.some((name) => offered.includes(name))) {
    socket.end(`HTTP/1.1 400 Bad Request\r\n\r\nthe WebSocket protocol must be ${names.join(" or ")}\n`);
    return undefined;
  }
  let session: StreamSession | undefined;
  // Calls back synchronously, or not at all if the handshake is invalid.
  server.handleUpgrade(request, socket, head, (webSocket) => {
    session = openSession(webSocket, socket);
  });
  return session;
}

function openSession(webSocket: WebSocket, socket: Socket): StreamSession {
  const stdin = new PassThrough();
  const closed = new AbortController();
  const sizes = createSizeRelay();
  const { isBase64, hasStatus } = protocols.get(webSocket.protocol) ?? { isBase64: false, hasStatus: true };

  /** Returns false when the client must read before more is written. */
  function sendChannel(channel: number, data: Buffer): boolean {
    if (webSocket.readyState !== webSocket.OPEN) return true;
    webSocket.send(
      isBase64 ? `${channel}${data.toString("base64")}` : Buffer.concat([Buffer.from([channel]), data]),
    );
    return !socket.writableNeedDrain;
  }

  /** Resumes reading unless the client does not read its output, or its input is not consumed. */
  function resumeReading(): void {
    if (!stdin.writableNeedDrain && !socket.writableNeedDrain) webSocket.resume();
  }
  for (const full of [stdin, socket]) full.on("drain", resumeReading);

  function receive(payload: Buffer): void {
    const channel = isBase64 ? Number(payload.toString("latin1", 0, 1)) : payload[0];
    const data = isBase64 ? Buffer.from(payload.toString("latin1", 1), "base64") : payload.subarray(1);
    if (channel === channels.stdin && !stdin.writableEnded && !stdin.write(data)) webSocket.pause();
    if (channel === channels.close && data[0] === channels.stdin) stdin.end();
    const size = channel === channels.resize ? parseTerminalSize(data.toString("utf8")) : undefined;
    if (size) sizes.send(size);
  }

  webSocket.on("message", (data: RawData) => {
    if (Buffer.isBuffer(data)) receive(data);
  });
  webSocket.on("ping", (data) => {
    webSocket.pong(data);
    if (socket.writableNeedDrain) webSocket.pause();
  });
  webSocket.on("error", () => webSocket.terminate());
  socket.on("close", () => {
    stdin.end();
    closed.abort(new Error("the client went away"));
  });
  // Upstream's servers send an empty message when the streams are open.
  sendChannel(channels.stdout, Buffer.alloc(0));

  return {
    stdin,
    closed: closed.signal,
    async write(channel, data) {
      if (!sendChannel(channels[channel], data) && !closed.signal.aborted)
        await once(socket, "drain", { signal: closed.signal });
    },
    onResize: sizes.listen,
    async finish(outcome: StreamOutcome) {
      if (hasStatus) sendChannel(channels.error, Buffer.from(outcomeStatus(outcome)));
      else if (!isSuccess(outcome)) sendChannel(channels.error, Buffer.from(failureMessage(outcome)));
      webSocket.close(1000);
      // Without waiting for the close frame of the client, which may have none to send.
      socket.end();
    },
  };
}
