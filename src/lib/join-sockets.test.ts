import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { joinSockets } from "./join-sockets.ts";

/** Two connected sockets. */
async function pair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const near = connect(typeof address === "object" && address ? address.port : 0, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  onTestFinished(() => void near.destroy());
  onTestFinished(() => void far.destroy());
  return [near, far];
}

async function join() {
  const [client, a] = await pair();
  const [b, backend] = await pair();
  return { client, a, b, backend, joined: joinSockets(a, b) };
}

test("delivers everything to a slow reader after the other side has closed", async () => {
  const backend = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const written: string[] = [];
  const client = new Duplex({
    read() {},
    async write(chunk, _encoding, done) {
      if (!backend.closed) await once(backend, "close");
      written.push(String(chunk));
      done();
    },
  });
  const joined = joinSockets(client, backend);
  backend.push("the rest");
  backend.push(null);
  backend.end();
  await joined;
  expect(written).toEqual(["the rest"]);
  expect(client.writableFinished).toBe(true);
});

test("closes both sides when one is destroyed, and adds few listeners", async () => {
  const { client, a, b, backend, joined } = await join();
  client.write("ping");
  expect(String((await once(backend, "data"))[0])).toBe("ping");
  for (const socket of [a, b]) expect(socket.listenerCount("close")).toBeLessThanOrEqual(4);
  backend.destroy();
  await joined;
  expect([a.destroyed, b.destroyed]).toEqual([true, true]);
});
