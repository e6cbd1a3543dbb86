import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished } from "vitest";
import { createHttpServer, listenOn } from "../../src/lib/http/http-server.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { startKubeletFixture } from "../support/node/kubelet-server.ts";
import { startTestServer } from "../support/servers/api-server.ts";
import { slowTest } from "../support/vitest/slow.ts";

const plain = async (port: number) => {
  const socket = connectPlain({ host: "127.0.0.1", port });
  await once(socket, "connect");
  return socket;
};
const secure = async (port: number) => {
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  return socket;
};
const request = "GET /readyz HTTP/1.1\r\nHost: x\r\n";

/** What slow clients send after they have connected. */
const slowClients: Record<string, (socket: Socket) => void> = {
  nothing: () => {},
  "half a request line": (socket) => socket.write("GET /ready"),
  "a header every second": (socket) => {
    socket.write(request);
    const timer = setInterval(() => socket.write("X: y\r\n"), 1_000);
    socket.on("close", () => clearInterval(timer));
  },
  "half of a second request": (socket) => socket.write(`${request}\r\n${request}`),
};

slowTest("every server cuts off slow handshakes and headers after 20 s", async () => {
  const api = await startTestServer();
  onTestFinished(() => api.close());
  const kubelet = await startKubeletFixture();
  onTestFinished(() => kubelet.close());
  // The monitor and the metrics servers.
  const shared = createHttpServer({ maxConnections: 100, logger: silentLogger });
  shared.on("request", (_request, response) => response.end("ok"));
  const other = await listenOn(shared, { host: "127.0.0.1", port: 0 });
  onTestFinished(() => other.close());

  const apiPort = Number(new URL(api.url).port);
  const kubeletPort = Number(new URL(kubelet.url).port);
  const clients = Object.entries(slowClients).flatMap(([name, send]) => [
    { name: `API server, ${name}`, connect: () => secure(apiPort), send },
    { name: `kubelet, ${name}`, connect: () => secure(kubeletPort), send },
    { name: `monitor, ${name}`, connect: () => plain(other.port), send },
  ]);
  const handshakes = [apiPort, kubeletPort].map((port) => ({
    name: `port ${port}, no handshake`,
    connect: () => plain(port),
    send: () => {},
  }));
  const secondsOpen = await Promise.all(
    [...clients, ...handshakes].map(async ({ name, connect, send }) => {
      const socket = await connect();
      socket.on("error", () => {});
      socket.resume();
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const began = Date.now();
      send(socket);
      await closed;
      return { name, seconds: (Date.now() - began) / 1_000 };
    }),
  );
  expect(secondsOpen.filter(({ seconds }) => seconds < 19 || seconds > 24)).toEqual([]);
});
