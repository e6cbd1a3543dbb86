import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { StreamSession } from "./stream-session.ts";
import { acceptWebSocket } from "./web-socket-session.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A client's connection and the session that the server made of it. */
async function open(): Promise<{ client: Socket; socket: Socket; session: StreamSession | undefined }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const client = connect(typeof address === "object" && address ? address.port : 0, "127.0.0.1");
  const [socket] = (await once(server, "connection")) as [Socket];
  closing.push(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  client.on("error", () => {});
  client.resume();
  const request = new IncomingMessage(socket);
  request.headers = { "sec-websocket-protocol": "v5.channel.k8s.io", "sec-websocket-key": "key" };
  return { client, socket, session: acceptWebSocket(request, socket, Buffer.alloc(0)) };
}

/** Masked with zeros. */
function frame(payload: Buffer, { first, final }: { first: boolean; final: boolean }): Buffer {
  const header = Buffer.alloc(14);
  header[0] = (final ? 0x80 : 0) | (first ? 2 : 0);
  header[1] = 0x80 | 127;
  header.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([header, payload]);
}

test("a message in pieces is put together", async () => {
  const { client, session } = await open();
  client.write(frame(Buffer.from("\0one "), { first: true, final: false }));
  client.write(frame(Buffer.from("message"), { first: false, final: true }));
  const [data] = await once(session?.stdin ?? client, "data");
  expect(String(data)).toBe("one message");
});

test.each([
  ["long", 5, 4 << 20],
  ["empty", 20_000, 0],
])(
  "a message of %s pieces without end does not take the daemon's memory: the connection ends",
  async (_, count, length) => {
    const { client, session } = await open();
    const piece = Buffer.alloc(length);
    for (let i = 0; i < count; i++) client.write(frame(piece, { first: i === 0, final: false }));
    await expect.poll(() => session?.closed.aborted).toBe(true);
  },
);

test("a client that asks for answers and does not read them is not read either", async () => {
  const { client, socket } = await open();
  client.pause();
  const [count, length] = [200_000, 125];
  const ping = Buffer.concat([Buffer.from([0x89, 0x80 | length, 0, 0, 0, 0]), Buffer.alloc(length)]);
  client.write(Buffer.concat(Array<Buffer>(count).fill(ping)));
  await expect.poll(() => socket.isPaused()).toBe(true);
  expect(socket.writableLength).toBeLessThan(1 << 20);
  let received = 0;
  client.on("data", ({ length: more }: Buffer) => {
    received += more;
  });
  client.resume();
  await expect.poll(() => received).toBeGreaterThan(count * (2 + length));
});
