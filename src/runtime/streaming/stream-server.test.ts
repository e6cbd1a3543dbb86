import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { untilAborted } from "../../lib/abort.ts";
import { silentLogger } from "../../lib/logger.ts";
import { startStreamServer } from "./stream-server.ts";

test("stops while an idle client is connected", async () => {
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

test("close waits until the sessions of disconnected clients have ended", async () => {
  const server = await startStreamServer({ logger: silentLogger });
  const steps: string[] = [];
  const opened = new AbortController();
  const url = server.offer("exec", {
    streams: { stdin: false, stdout: true, stderr: true, tty: false },
    async serve(session) {
      opened.abort();
      await untilAborted(session.closed);
      for (let turn = 0; turn < 100; turn++) await setImmediate();
      steps.push("process killed");
    },
  });
  const headers = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": Buffer.alloc(16).toString("base64"),
  };
  request(url, { headers })
    .on("error", () => {})
    .end();
  await untilAborted(opened.signal);
  await server.close();
  steps.push("closed");
  expect(steps).toEqual(["process killed", "closed"]);
});
