import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { startStreamServer } from "./stream-server.ts";

test("a client that connects and says nothing does not keep the daemon from stopping", async () => {
  const server = await startStreamServer({ logger: silentLogger });
  const streams = { stdin: false, stdout: true, stderr: true, tty: false };
  const url = new URL(server.offer("exec", { streams, serve: async () => {} }));
  const client = connect(Number(url.port), url.hostname);
  await once(client, "connect");
  const closed = once(client, "close");
  await server.close();
  await closed;
  expect(client.destroyed).toBe(true);
});
