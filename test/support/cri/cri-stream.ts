import { randomBytes } from "node:crypto";
import { request } from "node:http";
import type { Socket } from "node:net";

/** A WebSocket client of the streaming server, by hand: what kubectl's exec speaks. */
export interface TestStream {
  send(text: string): void;
  closeInput(): void;
  resize(size: { Width: number; Height: number }): void;
  stdout(): string;
  destroy(): void;
  readonly ended: Promise<{ stdout: string; stderr: string; status: Record<string, unknown> }>;
}

export function openStream(url: string, protocol = "v5.channel.k8s.io"): Promise<TestStream> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
        "Sec-WebSocket-Protocol": protocol,
      },
    });
    call.once("error", reject);
    call.once("response", ({ statusCode }) => reject(new Error(`HTTP ${statusCode}`)));
    call.once("upgrade", (_response, socket, head) => resolve(connectTestStream(socket, head)));
    call.end();
  });
}

/** The same over a connection that is there already. */
export function connectTestStream(socket: Socket, head: Buffer): TestStream {
  const channels = [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)];
  let pending = head;
  socket.on("error", () => {});
  socket.on("data", (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes]);
    for (let frame = take(pending); frame; frame = take(pending)) {
      pending = pending.subarray(frame.size);
      const channel = frame.payload[0] ?? 0;
      if (frame.opcode === 2)
        channels[channel] = Buffer.concat([channels[channel] ?? Buffer.alloc(0), frame.payload.subarray(1)]);
    }
  });
  const text = (channel: number) => (channels[channel] ?? "").toString();
  const send = (channel: number, data: Buffer) =>
    socket.write(mask(Buffer.concat([Buffer.from([channel]), data])));
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve())).then(() => ({
    stdout: text(1),
    stderr: text(2),
    status: JSON.parse(text(3) || "{}") as Record<string, unknown>,
  }));
  return {
    send: (input) => void send(0, Buffer.from(input)),
    closeInput: () => void send(255, Buffer.from([0])),
    resize: (size) => void send(4, Buffer.from(JSON.stringify(size))),
    stdout: () => text(1),
    destroy: () => void socket.destroy(),
    ended,
  };
}

/** A server's frame: not masked. */
function take(bytes: Buffer): { opcode: number; payload: Buffer; size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] ?? 0) & 0x7f;
  const header = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < header) return undefined;
  const length =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < header + length) return undefined;
  return {
    opcode: (bytes[0] ?? 0) & 15,
    payload: bytes.subarray(header, header + length),
    size: header + length,
  };
}

/** A client's frame of less than 126 bytes, masked with zeros. */
function mask(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x82, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}
