import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { StatusError } from "../../../../api/meta/status-error.ts";
import { createBackendTransport } from "../kubelet/kubelet-transport.ts";
import { proxyToBackend, upgradeBackend } from "./backend-proxy.ts";
import { splitProxyUrl } from "./proxy-url.ts";

const prefix = "/api/v1/namespaces/a/pods/b:80/proxy";

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Starts a proxy in front of a backend that listens on loopback. Returns the port of the proxy. */
async function startProxy(backendPort: number): Promise<number> {
  const deps = { transport: createBackendTransport({ allowLoopback: true, connectTimeoutMs: 2_000 }) };
  const backend = { scheme: "http", host: "127.0.0.1", port: backendPort } as const;
  const server = createServer((request, response) => {
    proxyToBackend(deps, backend, { request, response }).catch((error: unknown) => {
      const status = error instanceof StatusError ? error.toStatus() : { message: `${error}` };
      response.writeHead(error instanceof StatusError ? error.code : 500).end(JSON.stringify(status));
    });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    upgradeBackend(deps, backend, { request, socket, head }).catch(() => socket.destroy());
  });
  return listen(server);
}

const startBackend = (serve: RequestListener) => listen(createServer(serve));
/** Backend that answers every connection with these bytes. */
const startRaw = (bytes: string) =>
  listen(createTcpServer((socket) => socket.on("error", () => {}).end(bytes)));

async function send(
  port: number,
  path: string,
  options: { method?: string; body?: string; headers?: object } = {},
) {
  const { body = "", ...rest } = options;
  const call = httpRequest({
    port,
    host: "127.0.0.1",
    path,
    agent: false,
    ...rest,
    headers: { ...rest.headers },
  });
  call.end(body);
  const [response] = (await once(call, "response")) as [IncomingMessage];
  return { code: response.statusCode, headers: response.headers, body: await text(response) };
}

test.each([
  [`${prefix}/a%2Fb/?x=1`, { prefix, path: "/a%2Fb/", query: "?x=1" }],
  [prefix, { prefix, path: "", query: "" }],
  [`${prefix}?x=/proxy/`, { prefix, path: "", query: "?x=/proxy/" }],
  ["/api/v1/nodes/n/proxy/proxy/x", { prefix: "/api/v1/nodes/n/proxy", path: "/proxy/x", query: "" }],
])("%s", (url, expected) => expect(splitProxyUrl(url)).toEqual(expected));

const framings = [{ "content-length": "4" }, { "transfer-encoding": "chunked" }];
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

test.each(methods.flatMap((method) => framings.map((framing) => [method, framing] as const)))(
  "%s %j with path, query and body",
  async (method, framing) => {
    const backend = await startBackend(async (request, response) => {
      const { url, headers } = request;
      response.writeHead(202, { "x-own": "1", connection: "close" });
      response.end(JSON.stringify({ method: request.method, url, headers, body: await text(request) }));
    });
    const path = `${prefix}/a%2Fb/?x=1&y=%20`;
    const headers = { authorization: "Bearer secret", "impersonate-user": "a", "x-client": "2", ...framing };
    const answer = await send(await startProxy(backend), path, { method, body: "data", headers });
    expect(answer).toMatchObject({ code: 202, headers: { "x-own": "1" } });
    const seen = JSON.parse(answer.body);
    expect(seen).toMatchObject({ method, url: "/a%2Fb/?x=1&y=%20", body: "data" });
    expect(seen.headers).toMatchObject({ "x-client": "2", "x-forwarded-uri": `${prefix}/a%2Fb/` });
    expect(seen.headers).not.toHaveProperty("authorization");
    expect(seen.headers).not.toHaveProperty("impersonate-user");
  },
);

test("a path without a slash is redirected, for reads", async () => {
  const port = await startProxy(await startBackend((request, response) => response.end(request.url)));
  expect(await send(port, `${prefix}?a=b`)).toMatchObject({
    code: 301,
    headers: { location: `${prefix}/?a=b` },
  });
  expect(await send(port, `${prefix}?a=b`, { method: "POST" })).toMatchObject({ code: 200, body: "/?a=b" });
});

test("redirects and links lead through the proxy, also of a compressed page", async () => {
  const page = '<a href="/x">';
  const port = await startProxy(
    await startBackend((request, response) => {
      if (request.url === "/redirect") return response.writeHead(302, { location: "/x" }).end();
      const compressed = request.url === "/gzip";
      response.writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        ...(compressed && { "content-encoding": "gzip" }),
      });
      response.end(compressed ? gzipSync(page) : page);
    }),
  );
  expect((await send(port, `${prefix}/redirect`)).headers.location).toBe(`${prefix}/x`);
  for (const path of ["/plain", "/gzip"])
    expect((await send(port, prefix + path)).body).toBe(`<a href="${prefix}/x">`);
});

test("data of a stream is forwarded at once", async () => {
  let finish = () => {};
  const backend = await startBackend((_request, response) => {
    response.write("first");
    finish = () => response.end("second");
  });
  const call = httpRequest({
    port: await startProxy(backend),
    host: "127.0.0.1",
    path: `${prefix}/`,
    agent: false,
  });
  call.end();
  const [response] = (await once(call, "response")) as [IncomingMessage];
  const [first] = await once(response, "data");
  expect(String(first)).toBe("first");
  finish();
  expect(await text(response)).toBe("second");
});

test("an upgrade carries bytes both ways", async () => {
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n${request.url};`,
    );
    socket.unshift(head);
    socket.pipe(socket);
  });
  const socket = connect(await startProxy(await listen(server)), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(`GET ${prefix}/s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\nearly`);
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  await expect.poll(() => received).toMatch(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\n\/s;early$/);
});

test.each([
  ["closes at once", "", 503],
  ["sends no HTTP", "hello\r\n\r\n", 503],
  ["sends headers without end", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}`, 503],
  ["sends an impossible status", "HTTP/1.1 099 Bad\r\nContent-Length: 0\r\n\r\n", 502],
  [
    "upgrades without being asked",
    "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    503,
  ],
])("a backend that %s", async (_, bytes, code) => {
  expect((await send(await startProxy(await startRaw(bytes)), `${prefix}/`)).code).toBe(code);
});

test("a body that ends early is not taken for a complete one", async () => {
  const port = await startProxy(await startRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"));
  await expect(send(port, `${prefix}/`)).rejects.toThrow();
});

test("a page that is not compressed as it claims ends the response, not the server", async () => {
  const head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n";
  const port = await startProxy(await startRaw(`${head}no gzip`));
  await expect(send(port, `${prefix}/`)).rejects.toThrow();
  expect((await send(port, `${prefix}`)).code).toBe(301);
});

test("addresses that are not allowed are rejected before a connection is made", async () => {
  const transport = createBackendTransport();
  const call = { scheme: "http", port: 80, method: "GET", path: "/", signal: AbortSignal.abort() } as const;
  for (const host of ["127.0.0.1", "169.254.169.254", "::1", "localhost"]) {
    const rejection = (async () => transport({ ...call, signal: new AbortController().signal, host }))();
    await expect(rejection).rejects.toThrow("address not allowed");
  }
});
