import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { ownPort } from "../../support/network/own-share.ts";
import { runHandler } from "./run-handler.ts";

async function listen(host: string): Promise<{ port: number; close(): Promise<void>; accepted(): number }> {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    socket.on("error", () => {});
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port: (server.address() as AddressInfo).port, close, accepted: () => accepted };
}

test.each(["127.0.0.1", "::1"])("a port that accepts connections on %s", async (ip) => {
  const server = await listen(ip);
  expect(await runHandler({ tcpSocket: { port: server.port } }, { ip })).toEqual({ kind: "success" });
  // It only closes once the probe has let go of its connection.
  await server.close();
  expect(server.accepted()).toBe(1);
});

test("950-7 a named port and an explicit host", async () => {
  const server = await listen("127.0.0.1");
  const ports = [{ name: "db", containerPort: server.port }];
  const tcpSocket = { port: "db", host: "localhost" };
  expect(await runHandler({ tcpSocket }, { ports, ip: "192.0.2.1" })).toEqual({ kind: "success" });
  await server.close();
});

test("fails when nothing listens on the port", async () => {
  const port = await ownPort();
  expect(await runHandler({ tcpSocket: { port } })).toEqual({
    kind: "failure",
    output: `dial tcp 127.0.0.1:${port}: connect: connection refused`,
  });
});

test("a connection attempt is aborted after the timeout", async () => {
  // An address reserved for documentation. A machine without a route fails immediately.
  const outcome = await runHandler({ tcpSocket: { port: 80 } }, { ip: "192.0.2.1", timeoutMs: 50 });
  expect(outcome).toMatchObject({
    kind: "failure",
    output: expect.stringMatching(/^dial tcp 192\.0\.2\.1:80: (i\/o timeout|connect: .+)$/),
  });
});

test("an unknown host", async () => {
  const outcome = await runHandler({ tcpSocket: { port: 80, host: "nowhere.invalid" } });
  expect(outcome).toMatchObject({
    kind: "failure",
    output: expect.stringMatching(/^dial tcp: lookup nowhere\.invalid: /),
  });
});
