import { once } from "node:events";
import { get, type IncomingMessage, request as send } from "node:http";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import type { MonitorParts } from "../../src/monitor/server/handle-request.ts";
import { type MonitorServer, startMonitorServer } from "../../src/monitor/server/monitor-server.ts";

const servers: MonitorServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function* messages(signal: AbortSignal): AsyncGenerator<string> {
  yield '{"kind":"snapshot"}';
  yield '{"kind":"change"}';
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

const parts: MonitorParts = {
  subscribe: messages,
  scrape: (accept) => ({ contentType: "text/plain; version=0.0.4", body: `# accept ${accept}\n` }),
  report: () => ({ slos: [{ name: "fast" }] }),
};

async function start(options: { parts?: MonitorParts | Promise<MonitorParts>; host?: string } = {}) {
  const server = await startMonitorServer({
    listen: { host: options.host ?? "127.0.0.1", port: 0 },
    parts: options.parts ?? parts,
    client: { request: () => Promise.reject(new Error("loopback requests need no token review")) },
    clock: systemClock,
    logger: silentLogger,
  });
  servers.push(server);
  return server;
}

async function ask(
  url: string,
  { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
) {
  const request = send(url, { method, headers, agent: false });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

test.each(["/healthz", "/metrics", "/api/report", "/nothing", "/"])(
  "%s comes with strict headers",
  async (path) => {
    const { url } = await start();
    expect((await ask(url + path)).headers).toMatchObject({
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
  },
);

test("health, metrics and the report", async () => {
  const { url } = await start();
  expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200, text: "ok\n" });
  expect(await ask(`${url}/metrics`, { headers: { accept: "a/b" } })).toMatchObject({
    status: 200,
    text: "# accept a/b\n",
    headers: { "content-type": "text/plain; version=0.0.4" },
  });
  const report = await ask(`${url}/api/report?x=1`);
  expect(report.headers).toMatchObject({
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
  });
  expect(JSON.parse(report.text)).toEqual({ slos: [{ name: "fast" }] });
  expect(await ask(`${url}/metrics`, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  expect(await ask(`${url}/nothing`)).toMatchObject({ status: 404 });
  expect(await ask(`${url}/metrics`, { method: "POST" })).toMatchObject({
    status: 405,
    headers: { allow: "GET, HEAD" },
  });
  // Without authentication there is no login.
  expect(await ask(`${url}/login`)).toMatchObject({ status: 404 });
});

test.each([
  ["localhost", 200],
  ["localhost:1234", 200],
  ["127.0.0.1", 200],
  ["evil.example.com", 403],
  ["localhost.evil.example.com:6480", 403],
])("on loopback, Host %s gets %i", async (host, status) => {
  const { url } = await start();
  for (const path of ["/api/report", "/healthz", "/metrics"]) {
    expect(await ask(url + path, { headers: { host } })).toMatchObject({ status });
  }
});

test("the feed is a stream of events", async () => {
  const { url } = await start();
  const request = get(`${url}/api/feed`, { agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.headers).toMatchObject({
    "content-type": "text/event-stream",
    "cache-control": "no-store",
  });
  let text = "";
  for await (const chunk of response) {
    text += chunk;
    if (text.includes("change")) break;
  }
  expect(text).toBe('retry: 2000\n\ndata: {"kind":"snapshot"}\n\ndata: {"kind":"change"}\n\n');
});

test("a request during loading waits for the monitor, and reports its failure", async () => {
  let load: (parts: MonitorParts) => void = () => {};
  const loading = new Promise<MonitorParts>((resolve) => {
    load = resolve;
  });
  const { url } = await start({ parts: loading });
  const asking = ask(`${url}/api/report`);
  expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200 });
  load(parts);
  expect(await asking).toMatchObject({ status: 200 });
  const failed = await start({ parts: Promise.reject(new Error("no store")) });
  expect(await ask(`${failed.url}/api/report`)).toMatchObject({ status: 500 });
  expect(await ask(`${failed.url}/healthz`)).toMatchObject({ status: 200 });
});

test("connections above the limit are rejected with 503", async () => {
  const { url } = await start({ parts: { ...parts, subscribe: () => undefined } });
  expect(await ask(`${url}/api/feed`)).toMatchObject({ status: 503, headers: { "retry-after": "30" } });
});

test("a subscriber that does not read delays no other", async () => {
  let given = 0;
  let isOver = false;
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) {
        given++;
        yield "x".repeat(100_000);
      }
    } finally {
      isOver = true;
    }
  }
  const { url } = await start({ parts: { ...parts, subscribe: endless } });
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.write("GET /api/feed HTTP/1.1\r\nHost: localhost\r\n\r\n");
  // What the kernel and one message hold, and no more.
  let before = -1;
  await expect
    .poll(
      () => {
        const settled = given > 0 && given === before;
        before = given;
        return settled;
      },
      { interval: 200 },
    )
    .toBe(true);
  expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200 });
  socket.destroy();
  await expect.poll(() => isOver).toBe(true);
});

test("rejects invalid HTTP and huge headers", async () => {
  const { url } = await start();
  for (const text of [
    "\x16\x03\x01hello\r\n\r\n",
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"y".repeat(40_000)}\r\n\r\n`,
  ]) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write(text);
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    await once(socket, "close");
    expect(answer).toMatch(/^HTTP\/1.1 4/);
  }
  expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200 });
});

test("a port in use is reported as an error", async () => {
  const { url } = await start();
  const listen = { host: "127.0.0.1", port: Number(new URL(url).port) };
  const client = { request: () => Promise.reject(new Error("unused")) };
  const again = startMonitorServer({ listen, parts, client, clock: systemClock, logger: silentLogger });
  await expect(again).rejects.toMatchObject({ code: "EADDRINUSE" });
});
