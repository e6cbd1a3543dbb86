import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import {
  createSizeRelay,
  outcomeStatus,
  parseTerminalSize,
  type StreamOutcome,
  type StreamSession,
} from "./stream-session.ts";
import { type Frame, mostPayloadBytes, opcodes, readFrame, writeFrame } from "./web-socket-frames.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
/** Ours in order of preference: v5 can close standard input. */
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const leastPieceBytes = 1_024;
const handshakeSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Answers the handshake; undefined, with the connection refused, when the client speaks none of our protocols. */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): StreamSession | undefined {
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const protocol = protocols.find((name) => offered.includes(name));
  const key = request.headers["sec-websocket-key"];
  if (!protocol || !key) {
    socket.end(`HTTP/1.1 400 Bad Request\r\n\r\nWebSocket with ${protocols.join(" or ")} is spoken here\n`);
    return undefined;
  }
  const accept = createHash("sha1")
    .update(key + handshakeSuffix)
    .digest("base64");
  socket.write(
    [
      "HTTP/1.1 101 Switching Protocols",
      "Upgrade: websocket",
      "Connection: Upgrade",
      `Sec-WebSocket-Accept: ${accept}`,
      `Sec-WebSocket-Protocol: ${protocol}`,
      "\r\n",
    ].join("\r\n"),
  );
  return openSession(socket, head);
}

function openSession(socket: Socket, head: Buffer): StreamSession {
  const stdin = new PassThrough();
  const closed = new AbortController();
  const sizes = createSizeRelay();

  function send(opcode: number, payload: Buffer): boolean {
    return socket.writable ? socket.write(writeFrame(opcode, payload)) : true;
  }
  const sendChannel = (channel: number, data: Buffer) =>
    send(opcodes.binary, Buffer.concat([Buffer.from([channel]), data]));

  /** Nothing is read from a client that does not take what it is sent, or sends what nobody takes. */
  function readOn(): void {
    if (!stdin.writableNeedDrain && !socket.writableNeedDrain) socket.resume();
  }
  for (const full of [stdin, socket]) full.on("drain", readOn);

  function receive({ opcode, payload }: Frame): void {
    if (opcode === opcodes.ping && !send(opcodes.pong, payload)) socket.pause();
    if (opcode === opcodes.close) socket.end(writeFrame(opcodes.close, payload));
    if (opcode !== opcodes.binary && opcode !== opcodes.text) return;
    const [channel] = payload;
    const data = payload.subarray(1);
    if (channel === channels.stdin && !stdin.writableEnded && !stdin.write(data)) socket.pause();
    if (channel === channels.close && data[0] === channels.stdin) stdin.end();
    const size = channel === channels.resize ? parseTerminalSize(data.toString("utf8")) : undefined;
    if (size) sizes.tell(size);
  }

  socket.on("error", () => socket.destroy());
  // HTTP's sockets stay half open: a client that has gone would never be missed.
  socket.on("end", () => socket.end());
  socket.on("close", () => {
    stdin.end();
    closed.abort(new Error("the client went away"));
  });
  readFrames(socket, head, receive);
  // Upstream's servers tell the client with an empty message that the streams are open.
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
      sendChannel(channels.error, Buffer.from(outcomeStatus(outcome)));
      socket.end(writeFrame(opcodes.close, Buffer.from([0x03, 0xe8])));
    },
  };
}

/** Whole messages: those that came in pieces are put together. */
function readFrames(socket: Socket, head: Buffer, receive: (frame: Frame) => void): void {
  let pending: Buffer = head;
  let pieces: Frame[] = [];
  let heldBytes = 0;
  function take(bytes: Buffer): void {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
    try {
      for (let read = readFrame(pending); read; read = readFrame(pending)) {
        pending = pending.subarray(read.size);
        const { frame } = read;
        if (frame.opcode >= opcodes.close) receive(frame);
        else {
          pieces.push(frame);
          // Small ones too take memory, and empty ones.
          heldBytes += Math.max(frame.payload.length, leastPieceBytes);
          if (heldBytes > mostPayloadBytes) throw new Error("a message is too long");
          if (!frame.final) continue;
          receive({
            final: true,
            opcode: pieces[0]?.opcode ?? frame.opcode,
            payload: Buffer.concat(pieces.map(({ payload }) => payload)),
          });
          pieces = [];
          heldBytes = 0;
        }
      }
    } catch {
      socket.destroy();
    }
  }
  socket.on("data", take);
  if (head.length > 0) take(Buffer.alloc(0));
}
