import { request } from "node:http";
import type { Socket } from "node:net";
import { constants, createDeflate } from "node:zlib";
import { spdyDictionary } from "../../../src/runtime/streaming/spdy-headers.ts";

/** A SPDY client of the streaming server, by hand: what crictl's exec speaks. */
export interface SpdyStream {
  send(text: string): boolean;
  closeInput(): void;
  resize(size: { Width: number; Height: number }): void;
  /** Bytes that are no frame of ours. */
  sendRaw(bytes: Buffer): void;
  /** Resolves when the server has responded, and so has read everything that was sent before. */
  ping(): Promise<void>;
  pause(): void;
  resume(): void;
  destroy(): void;
  stdout(): string;
  readonly ended: Promise<{ stdout: string; stderr: string; status: Record<string, unknown> }>;
}

type StreamName = "error" | "stdin" | "stdout" | "stderr" | "resize";

/** Opens one stream after the other, as kubectl and crictl do. */
export async function openSpdyStream(
  url: string,
  names: readonly StreamName[],
  protocols = ["v4.channel.k8s.io"],
): Promise<SpdyStream> {
  return connectSpdyStream(await upgrade(url, protocols), names);
}

/** The same over a connection that is there already. */
export async function connectSpdyStream(
  { socket, head }: { socket: Socket; head: Buffer },
  names: readonly StreamName[],
): Promise<SpdyStream> {
  const connection = follow(socket, head);
  for (const name of names) await connection.open(name);
  return connection.stream;
}

function upgrade(url: string, protocols: readonly string[]): Promise<{ socket: Socket; head: Buffer }> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method: "POST",
      headers: {
        Connection: "Upgrade",
        Upgrade: "SPDY/3.1",
        "X-Stream-Protocol-Version": [...protocols],
      },
    });
    call.once("error", reject);
    call.once("response", (response) => {
      response.setEncoding("utf8");
      let body = "";
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => reject(new Error(`HTTP ${response.statusCode}: ${body}`)));
    });
    call.once("upgrade", (_response, socket, head) => resolve({ socket, head }));
    call.end();
  });
}

const dataHeader = (streamId: number, flags: number, length: number) => {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(streamId, 0);
  header.writeUInt8(flags, 4);
  header.writeUIntBE(length, 5, 3);
  return header;
};
const control = (type: number, payload: Buffer) => {
  const header = dataHeader(0, 0, payload.length);
  header.writeUInt16BE(0x8003, 0);
  header.writeUInt16BE(type, 2);
  return Buffer.concat([header, payload]);
};
const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
};

function follow(socket: Socket, head: Buffer) {
  const streams = new Map<StreamName, number>();
  const received = new Map<number, Buffer>();
  const waiting = new Map<string, () => void>();
  const compress = createCompressor();
  let pending = head;
  let nextPing = 1;

  function take(): boolean {
    if (pending.length < 8) return false;
    const length = pending.readUIntBE(5, 3);
    if (pending.length < 8 + length) return false;
    const first = pending.readUInt32BE(0);
    const payload = pending.subarray(8, 8 + length);
    pending = pending.subarray(8 + length);
    if ((first & 0x80000000) === 0)
      received.set(first, Buffer.concat([received.get(first) ?? Buffer.alloc(0), payload]));
    else waiting.get(`${first & 0xffff}/${length >= 4 ? payload.readUInt32BE(0) : ""}`)?.();
    return true;
  }
  socket.on("error", () => {});
  socket.on("data", (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes]);
    while (take());
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const answer = (key: string) =>
    Promise.race([
      new Promise<void>((resolve) => waiting.set(key, resolve)),
      closed.then(() => {
        throw new Error("the server hung up");
      }),
    ]);
  const text = (name: StreamName) => (received.get(streams.get(name) ?? 0) ?? "").toString();
  const send = (name: StreamName, data: Buffer, flags = 0) =>
    socket.write(Buffer.concat([dataHeader(streams.get(name) ?? 0, flags, data.length), data]));

  async function open(name: StreamName): Promise<void> {
    const streamId = 1 + 2 * streams.size;
    streams.set(name, streamId);
    const words = ["streamtype", name].map((word) => Buffer.concat([uint32(word.length), Buffer.from(word)]));
    const headers = await compress(Buffer.concat([uint32(1), ...words]));
    const replied = answer(`2/${streamId}`);
    socket.write(control(1, Buffer.concat([uint32(streamId), uint32(0), Buffer.from([0, 0]), headers])));
    await replied;
  }
  const stream: SpdyStream = {
    send: (input) => send("stdin", Buffer.from(input)),
    closeInput: () => void send("stdin", Buffer.alloc(0), 1),
    resize: (size) => void send("resize", Buffer.from(JSON.stringify(size))),
    sendRaw: (bytes) => void socket.write(bytes),
    async ping() {
      const id = nextPing;
      nextPing += 2;
      const answered = answer(`6/${id}`);
      socket.write(control(6, uint32(id)));
      await answered;
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    destroy: () => void socket.destroy(),
    stdout: () => text("stdout"),
    ended: closed.then(() => ({
      stdout: text("stdout"),
      stderr: text("stderr"),
      status: JSON.parse(text("error") || "{}") as Record<string, unknown>,
    })),
  };
  return { open, stream };
}

function createCompressor(): (bytes: Buffer) => Promise<Buffer> {
  const deflate = createDeflate({ dictionary: spdyDictionary });
  let chunks: Buffer[] = [];
  deflate.on("data", (chunk: Buffer) => chunks.push(chunk));
  return (bytes) =>
    new Promise((resolve) => {
      chunks = [];
      deflate.write(bytes);
      deflate.flush(constants.Z_SYNC_FLUSH, () => resolve(Buffer.concat(chunks)));
    });
}
