import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type ForwardedClient, forwardPort } from "./forward-port.ts";

async function startServer(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, serve).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const dial = async (port: number) => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
};

/** Client that records what it gets. */
function createClient() {
  const chunks: Buffer[] = [];
  let onFinish: (problem: string | undefined) => void = () => {};
  const finished = new Promise<string | undefined>((resolve) => {
    onFinish = resolve;
  });
  const client: ForwardedClient = {
    write: async (data) => void chunks.push(data),
    finish: (problem) => onFinish(problem),
  };
  return { client, finished, text: () => Buffer.concat(chunks).toString() };
}

test("data that is sent before the connection is open arrives, and the end of the input is passed on", async () => {
  const port = await startServer((socket) => socket.pipe(socket));
  const { client, finished, text } = createClient();
  const connection = forwardPort(port, dial, client);
  await connection.write(Buffer.from("early"));
  connection.end();
  expect(await finished).toBeUndefined();
  expect(text()).toBe("early");
});

test("a port without a server is reported", async () => {
  const { client, finished } = createClient();
  forwardPort(1, dial, client);
  expect(await finished).toMatch(/^error forwarding port 1 to pod: connect ECONNREFUSED/);
});

test("the connection to the pod is closed when the client disconnects, while it is open and while it opens", async () => {
  const closed: Promise<unknown>[] = [];
  const port = await startServer((socket) => {
    socket.on("error", () => {}).on("end", () => socket.destroy());
    socket.resume();
    closed.push(once(socket, "close"));
  });
  const connection = forwardPort(port, dial, createClient().client);
  await expect.poll(() => closed.length).toBe(1);
  connection.destroy();
  forwardPort(port, dial, createClient().client).destroy();
  await expect.poll(() => closed.length).toBe(2);
  await Promise.all(closed);
});

test("a pod that does not read stops the client, until the pod is gone", async () => {
  const sockets: Socket[] = [];
  const port = await startServer((socket) => {
    socket.on("error", () => {}).pause();
    sockets.push(socket);
  });
  const connection = forwardPort(port, dial, createClient().client);
  await expect.poll(() => sockets.length).toBe(1);
  let written = 0;
  const sending = (async () => {
    for (; written < 64; written++) await connection.write(Buffer.alloc(1 << 20));
  })();
  await expect.poll(() => written).toBeGreaterThan(0);
  const stalledAt = written;
  expect(stalledAt).toBeLessThan(64);
  sockets[0]?.destroy();
  await sending;
});
