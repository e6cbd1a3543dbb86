import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createSelfSigned } from "../../../src/lib/x509/certificate.ts";
import { ownPort } from "../../support/network/own-share.ts";
import { runHandler } from "./run-handler.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listen(
  server: Server | ReturnType<typeof createTcpServer>,
  host = "127.0.0.1",
): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

const serve = (handler: RequestListener, host?: string) => listen(createServer(handler), host);
/** A server that responds with these bytes to any input. Closes the connection by default. */
const serveBytes = (bytes: string, { close = true } = {}) =>
  listen(
    createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => (close ? socket.end(bytes) : socket.write(bytes)));
    }),
  );

describe("the response", () => {
  test.each([200, 204, 206])("%d is a success", async (status) => {
    const port = await serve((_request, response) => response.writeHead(status).end());
    expect(await runHandler({ httpGet: { port } })).toEqual({ kind: "success" });
  });

  test.each([400, 401, 404, 500, 503])("%d is a failure; the body is not shown", async (status) => {
    const port = await serve((_request, response) => response.writeHead(status).end("secret"));
    const output = `HTTP probe failed with statuscode: ${status}`;
    expect(await runHandler({ httpGet: { port } })).toEqual({ kind: "failure", output });
  });

  test("a long body is read no further than needed", async () => {
    const port = await serve((_request, response) => {
      response.on("error", () => {});
      const more = () => {
        while (response.write("x".repeat(64 * 1_024)));
      };
      response.on("drain", more);
      more();
    });
    expect(await runHandler({ httpGet: { port } })).toEqual({ kind: "success" });
  });
});

test("950-7 path, headers, Host, named port and the user agent arrive", async () => {
  let seen: IncomingMessage | undefined;
  const port = await serve((request, response) => {
    seen = request;
    response.end("ok");
  });
  const httpHeaders = [
    { name: "Host", value: "shop.example" },
    { name: "X-Probe", value: "ä" },
  ];
  const ports = [{ name: "web", containerPort: port }];
  await runHandler({ httpGet: { port: "web", path: "/healthz?full", httpHeaders } }, { ports });
  expect(seen?.url).toBe("/healthz?full");
  expect(seen?.headers).toMatchObject({
    host: "shop.example",
    "user-agent": "kube-probe/1.36",
    accept: "*/*",
    connection: "close",
  });
  expect(Buffer.from(String(seen?.headers["x-probe"]), "latin1").toString()).toBe("ä");
});

test("IPv6 pods", async () => {
  let host: string | undefined;
  const port = await serve((request, response) => {
    host = request.headers.host;
    response.end();
  }, "::1");
  expect(await runHandler({ httpGet: { port } }, { ip: "::1" })).toEqual({ kind: "success" });
  expect(host).toBe(`[::1]:${port}`);
});

test("a host by name", async () => {
  const port = await serve((_request, response) => response.end());
  const httpGet = { port, host: "localhost" };
  expect(await runHandler({ httpGet }, { ip: "192.0.2.1" })).toEqual({ kind: "success" });
});

describe("HTTPS", () => {
  const pair = createSelfSigned({
    subject: { commonName: "x" },
    hosts: ["elsewhere.example"],
    now: Date.now(),
  });

  test("950-7 certificates are not verified", async () => {
    const port = await listen(createSecureServer(pair, (_request, response) => response.end()));
    expect(await runHandler({ httpGet: { port, scheme: "HTTPS" } })).toEqual({ kind: "success" });
  });

  test("a server without TLS", async () => {
    const port = await serve((_request, response) => response.end());
    expect(await runHandler({ httpGet: { port, scheme: "HTTPS" } })).toEqual({
      kind: "failure",
      output: `Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client`,
    });
  });
});

describe("redirects", () => {
  test("on the same host are followed", async () => {
    const seen: (string | undefined)[] = [];
    const port = await serve((request, response) => {
      seen.push(request.url);
      if (request.url === "/") response.writeHead(302, { location: "/login" }).end();
      else response.writeHead(200).end();
    });
    expect(await runHandler({ httpGet: { port } })).toEqual({ kind: "success" });
    expect(seen).toEqual(["/", "/login"]);
  });

  test("the response after the last redirect counts", async () => {
    const port = await serve((request, response) => {
      if (request.url === "/") response.writeHead(308, { location: "/down" }).end();
      else response.writeHead(503).end();
    });
    expect(await runHandler({ httpGet: { port } })).toMatchObject({ output: expect.stringContaining("503") });
  });

  test("to another host are a success with a warning", async () => {
    const port = await serve((_request, response) =>
      response.writeHead(302, { location: "http://0.0.0.0/" }).end("moved"),
    );
    expect(await runHandler({ httpGet: { port } })).toEqual({
      kind: "warning",
      output: "Probe terminated redirects, Response body: moved",
    });
  });

  test("loops end", async () => {
    let requests = 0;
    const port = await serve((_request, response) => {
      requests++;
      response.writeHead(302, { location: "/again" }).end();
    });
    expect(await runHandler({ httpGet: { port } })).toEqual({
      kind: "failure",
      output: `Get "http://127.0.0.1:${port}/again": stopped after 10 redirects`,
    });
    expect(requests).toBe(10);
  });
});

describe("failures", () => {
  test("fails when nothing listens on the port", async () => {
    const port = await ownPort();
    expect(await runHandler({ httpGet: { port, path: "/x" } })).toEqual({
      kind: "failure",
      output: `Get "http://127.0.0.1:${port}/x": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    });
  });

  test("no response in time", async () => {
    const port = await serve(() => {});
    expect(await runHandler({ httpGet: { port } }, { timeoutMs: 50 })).toEqual({
      kind: "failure",
      output: `Get "http://127.0.0.1:${port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
  });

  test("a body that does not end in time", async () => {
    const port = await serveBytes("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", { close: false });
    // Long enough for the headers to come.
    expect(await runHandler({ httpGet: { port } }, { timeoutMs: 3_000 })).toEqual({
      kind: "failure",
      output: `Get "http://127.0.0.1:${port}/": context deadline exceeded (Client.Timeout or context cancellation while reading body)`,
    });
  });

  test("the timeout is for all redirects together", async () => {
    const port = await serve((_request, response) => {
      setTimeout(() => response.writeHead(302, { location: "/again" }).end(), 30);
    });
    const outcome = await runHandler({ httpGet: { port } }, { timeoutMs: 100 });
    expect(outcome).toMatchObject({ output: expect.stringContaining("context deadline exceeded") });
  });

  test.each([
    ["an end instead of an answer", "", "EOF"],
    ["what is no HTTP", "hello\r\n", 'malformed HTTP response "hello"'],
  ])("%s", async (_name, bytes, text) => {
    const port = await serveBytes(bytes);
    const outcome = await runHandler({ httpGet: { port } });
    expect(outcome).toMatchObject({ kind: "failure", output: expect.stringContaining(text) });
  });

  test("a truncated body does not change the result", async () => {
    const port = await serveBytes("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    expect(await runHandler({ httpGet: { port } })).toEqual({
      kind: "error",
      state: "failure",
      message: "unexpected EOF",
    });
  });

  test("an unknown port name", async () => {
    expect(await runHandler({ httpGet: { port: "web" } })).toMatchObject({
      kind: "error",
      message: 'port "web" not found',
    });
  });

  test("an abort closes the connection", async () => {
    const abort = new AbortController();
    let closed: Promise<unknown> | undefined;
    const port = await serve((request) => {
      closed = new Promise((resolve) => request.socket.on("close", resolve));
      abort.abort();
    });
    await runHandler({ httpGet: { port } }, { signal: abort.signal });
    await closed;
  });
});
