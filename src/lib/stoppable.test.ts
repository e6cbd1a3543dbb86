import { connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { stoppable } from "./stoppable.ts";

test("closes connections without any request", async () => {
  const server = createServer();
  const stop = stoppable(server);
  const connected = new Promise((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const client: Socket = connect(typeof address === "object" && address ? address.port : 0, "127.0.0.1");
  const ended = new Promise((resolve) => client.once("close", resolve));
  client.on("error", () => {});
  await connected;
  await stop();
  await ended;
  expect(server.listening).toBe(false);
});
