import { once } from "node:events";
import { createServer as createHttpServer, IncomingMessage } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { StreamSession } from "./stream-session.ts";
import { acceptWebSocket } from "./web-socket-session.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Connection of a client and its session on the server. */
async function open(
  protocol = "v5.channel.k8s.io",
): Promise<{ client: Socket; socket: Socket; session: StreamSession | undefined }> {
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
  request.method = "GET";
  request.headers = {
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": Buffer.alloc(16).toString("base64"),
    "sec-websocket-protocol": protocol,
  };
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

test("joins a fragmented message", async () => {
  const { client, session } = await open();
  client.write(frame(Buffer.from("\0one "), { first: true, final: false }));
  client.write(frame(Buffer.from("message"), { first: false, final: true }));
  const [data] = await once(session?.stdin ?? client, "data");
  expect(String(data)).toBe("one message");
});

test.each([
  ["long", 5, 4 << 20],
  ["empty", 20_000, 0],
])("closes the connection at an endless message of %s fragments", async (_, count, length) => {
  const { client, session } = await open();
  const piece = Buffer.alloc(length);
  for (let i = 0; i < count; i++) client.write(frame(piece, { first: i === 0, final: false }));
  await expect.poll(() => session?.closed.aborted).toBe(true);
});

test("does not read from a client that does not read its responses", async () => {
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

test.each([
  ["unmasked", Buffer.from([0x82, 1, 0])],
  ["oversized", Buffer.from([0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0])],
])("closes the connection at an %s frame", async (_, bytes) => {
  const { client, session } = await open();
  client.write(bytes);
  await expect.poll(() => session?.closed.aborted).toBe(true);
});

test.each([0, 1, 125, 126, 65_535, 65_536])("writes a message of %i bytes", async (length) => {
  const { client, session } = await open();
  const received: Buffer[] = [];
  client.on("data", (chunk: Buffer) => received.push(chunk));
  await session?.write("stderr", Buffer.alloc(length, 7));
  await session?.finish({ kind: "exited", exitCode: 0 });
  await once(client, "end");
  const bytes = Buffer.concat(received);
  const message = Buffer.concat([Buffer.from([2]), Buffer.alloc(length, 7)]);
  const at = bytes.indexOf(message);
  expect(at).toBeGreaterThan(0);
  expect(bytes.subarray(at + message.length).toString("latin1")).toContain('"status":"Success"');
  expect(bytes.subarray(-4)).toEqual(Buffer.from([0x88, 2, 0x03, 0xe8]));
});

test.each([
  ["v4.channel.k8s.io", [[1], [1, "out"], [3, expect.stringContaining('"reason":"NonZeroExitCode"')]]],
  ["v4.base64.channel.k8s.io", ["1", "1b3V0", expect.stringMatching(/^3eyJ/)]],
  ["channel.k8s.io", [[1], [1, "out"], [3, expect.stringMatching(/^command terminated .* exit code 7$/)]]],
  ["base64.channel.k8s.io", ["1", "1b3V0", expect.stringMatching(/^3Y29tbWFuZC/)]],
])("speaks %s", async (protocol, expected) => {
  const { socket, session, url } = await serve();
  const client = new WebSocket(url, protocol);
  closing.push(() => client.terminate());
  const messages: unknown[] = [];
  client.on("message", (data: Buffer, isBinary) => {
    const text = data.toString("latin1", 1);
    messages.push(isBinary ? [data[0], ...(text ? [text] : [])] : data.toString());
  });
  await once(client, "open");
  client.send(protocol.includes("base64") ? `0${Buffer.from("in").toString("base64")}` : Buffer.from("\0in"));
  const { stdin, write, finish } = await session;
  expect(String((await once(stdin, "data"))[0])).toBe("in");
  await write("stdout", Buffer.from("out"));
  await finish({ kind: "exited", exitCode: 7 });
  await once(await socket, "close");
  expect(client.protocol).toBe(protocol);
  expect(messages).toEqual(expected);
});

/** HTTP server that accepts one WebSocket. */
async function serve() {
  const server = createHttpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const upgraded = once(server, "upgrade");
  const session = upgraded.then(([request, socket, head]) => acceptWebSocket(request, socket, head));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `ws://127.0.0.1:${port}`,
    socket: upgraded.then(([, socket]) => socket as Socket),
    session: session.then((opened) => opened ?? Promise.reject(new Error("no session"))),
  };
}

test("rejects a client that offers no supported protocol", async () => {
  const { client, session } = await open("v1.channel.k8s.io");
  expect(session).toBeUndefined();
  const [text] = await once(client, "data");
  expect(String(text)).toContain("400 Bad Request");
  expect(String(text)).toContain("the WebSocket protocol must be v5.channel.k8s.io or v4.channel.k8s.io or");
});
