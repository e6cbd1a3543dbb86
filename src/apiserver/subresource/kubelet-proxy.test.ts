import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer, request as httpsRequest } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Node, Pod } from "../../api/objects.ts";
import { notFound, StatusError } from "../../api/status-error.ts";
import { loadOrCreatePki, type Pki } from "../auth/pki/pki.ts";
import { parseRequest } from "../request-info.ts";
import { createKubeletProxy, type KubeletProxyOptions } from "./kubelet-proxy.ts";

let directory: string;
let pki: Pki;
let otherPki: Pki;
const closers: (() => void)[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubelet-proxy-"));
  pki = await loadOrCreatePki({ directory: join(directory, "a"), now: Date.now() });
  otherPki = await loadOrCreatePki({ directory: join(directory, "b"), now: Date.now() });
});
afterAll(() => rm(directory, { recursive: true }));
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

interface FakeKubelet {
  request?(request: IncomingMessage, response: ServerResponse): void;
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** A real HTTPS server in place of the kubelet's. */
async function startKubelet({ request, upgrade }: FakeKubelet): Promise<number> {
  const tls = { cert: pki.serving.cert, key: pki.serving.key, ca: pki.authority.cert };
  const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, request);
  if (upgrade) server.on("upgrade", upgrade);
  return listen(server);
}

interface World {
  readonly kubeletPort: number;
  readonly nodeName?: string;
  readonly kubelet?: Partial<KubeletProxyOptions["kubelet"]>;
}

/** The proxy behind an HTTPS server, as the server core puts it behind its own. */
async function startApiServer({ kubeletPort, nodeName = "n1", kubelet }: World): Promise<number> {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "ns" },
    spec: { containers: [{ name: "a" }], nodeName },
  };
  const node: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
    },
  };
  const proxyFor = createKubeletProxy({
    kubelet: { ...pki.kubeletClient, allowLoopback: true, ...kubelet },
    getPod: async () => pod,
    getNode: async (name) => {
      if (name !== "n1") throw notFound({ group: "", plural: "nodes" }, name);
      return node;
    },
  });
  const findProxy = (request: IncomingMessage) => {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const info = parseRequest(request.method ?? "GET", path, new URLSearchParams(query));
    const proxy = info && proxyFor(info);
    if (!proxy) throw new Error(`${path} is not proxied`);
    return { proxy, query: new URLSearchParams(query) };
  };
  const bodyOf = (error: unknown) =>
    JSON.stringify(error instanceof StatusError ? error.toStatus() : { message: `${error}`, code: 500 });
  const server = createServer(pki.serving, async (request, response) => {
    const { proxy, query } = findProxy(request);
    await proxy.request(request, response, query).catch((error) => {
      response.writeHead(error instanceof StatusError ? error.code : 500).end(bodyOf(error));
    });
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => {});
    findProxy(request)
      .proxy.upgrade(request, socket, head)
      .catch((error) => socket.end(`HTTP/1.1 ${error.code ?? 500} X\r\n\r\n${bodyOf(error)}`));
  });
  return listen(server);
}

/** However it comes about. */
function closeOf(socket: Duplex): Promise<void> {
  return new Promise((resolve) => socket.once("close", resolve));
}

const logUrl = "/api/v1/namespaces/ns/pods/web/log";
const execUrl = "/api/v1/namespaces/ns/pods/web/exec?command=sh&stdin=true";

function open(
  port: number,
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
) {
  const request = httpsRequest({
    port,
    host: "127.0.0.1",
    path,
    agent: false,
    ca: pki.authority.cert,
    ...options,
  });
  request.on("error", () => {});
  closers.push(() => request.destroy());
  return request;
}

async function get(
  port: number,
  path: string,
  body = "",
  options: { method?: string; headers?: Record<string, string> } = {},
) {
  const request = open(port, path, options);
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { code: response.statusCode, headers: response.headers, body: await text(response) };
}

describe("logs", () => {
  test("are asked for with the server's certificate and passed on as text", async () => {
    const seen: unknown[] = [];
    const kubeletPort = await startKubelet({
      request(request, response) {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate();
        seen.push(request.method, request.url, subject.CN);
        response.writeHead(200, { "content-type": "text/html" });
        response.end("one\ntwo\n");
      },
    });
    const answer = await get(await startApiServer({ kubeletPort }), `${logUrl}?tailLines=2&container=a`);
    expect(answer).toMatchObject({
      code: 200,
      body: "one\ntwo\n",
      headers: { "content-type": "text/plain" },
    });
    expect(seen).toEqual(["GET", "/containerLogs/ns/web/a?tailLines=2", "kube-apiserver-kubelet-client"]);
  });

  test("are followed line by line, and a client that leaves ends the kubelet's side", async () => {
    let say = (_line: string) => {};
    const kubeletSideClosed = new Promise<void>((resolve, reject) => {
      startKubelet({
        request(_request, response) {
          say = (line) => response.write(line);
          response.flushHeaders();
          response.on("close", resolve);
        },
      }).then(async (kubeletPort) => {
        const client = open(await startApiServer({ kubeletPort }), `${logUrl}?follow=true`);
        client.end();
        const [response] = (await once(client, "response")) as [IncomingMessage];
        say("first\n");
        expect(String((await once(response, "data"))[0])).toBe("first\n");
        say("second\n");
        expect(String((await once(response, "data"))[0])).toBe("second\n");
        client.destroy();
      }, reject);
    });
    await kubeletSideClosed;
  });

  test("a client that does not read stops the kubelet from sending", async () => {
    let sent = 0;
    const kubeletPort = await startKubelet({
      async request(_request, response) {
        const chunk = Buffer.alloc(256 * 1024);
        while (!response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) await once(response, "drain").catch(() => {});
        }
      },
    });
    const client = open(await startApiServer({ kubeletPort }), logUrl);
    client.end();
    const [response] = (await once(client, "response")) as [IncomingMessage];
    response.pause();
    let before = -1;
    const stalled = () => {
      const still = sent > 0 && sent === before;
      before = sent;
      return still;
    };
    await expect.poll(stalled, { interval: 200 }).toBe(true);
    // What fits into the buffers of the kernel on the way.
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test("of a pod without a node are empty", async () => {
    const port = await startApiServer({ kubeletPort: 1, nodeName: "" });
    expect(await get(port, logUrl)).toMatchObject({ code: 204, body: "" });
  });

  test.each([
    [{ code: 400, body: "container is waiting", location: "" }, 400, "container is waiting"],
    [
      { code: 404, body: "", location: "" },
      404,
      "the server could not find the requested resource ( pods/log web)",
    ],
    [
      { code: 302, body: "", location: "https://10.1.1.1/x" },
      500,
      'Get "https://10.1.1.1/x": redirects forbidden',
    ],
  ])("the kubelet's %j", async ({ code, body, location }, expectedCode, message) => {
    const kubeletPort = await startKubelet({
      request: (_request, response) => response.writeHead(code, location ? { location } : {}).end(body),
    });
    const answer = await get(await startApiServer({ kubeletPort }), logUrl);
    expect(answer.code).toBe(expectedCode);
    expect(JSON.parse(answer.body).message).toBe(message);
  });

  test("a kubelet that is down", async () => {
    const port = await startApiServer({ kubeletPort: 1 });
    const answer = await get(port, `${logUrl}?follow=true`);
    expect(JSON.parse(answer.body)).toMatchObject({
      code: 500,
      message:
        'Get "https://127.0.0.1:1/containerLogs/ns/web/a?follow=true": dial tcp 127.0.0.1:1: connect: connection refused',
    });
  });

  test("a kubelet that does not speak", async () => {
    const kubeletPort = await listen(createTcpServer());
    const port = await startApiServer({ kubeletPort, kubelet: { connectTimeoutMs: 50 } });
    const answer = await get(port, logUrl);
    expect(JSON.parse(answer.body).message).toMatch(/dial tcp 127\.0\.0\.1:\d+: i\/o timeout$/);
  });

  test("a kubelet that hangs up before it answers", async () => {
    const kubeletPort = await startKubelet({ request: (request) => request.socket.destroy() });
    const answer = await get(await startApiServer({ kubeletPort }), logUrl);
    expect(JSON.parse(answer.body).message).toMatch(/: EOF$/);
  });

  test("a kubelet that upgrades unasked", async () => {
    const kubeletPort = await startKubelet({
      request: ({ socket }) => {
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
      },
    });
    const answer = await get(await startApiServer({ kubeletPort }), logUrl);
    expect(JSON.parse(answer.body).code).toBe(500);
  });

  test("the kubelet's certificate is verified where there is a CA for it, unless the client waives that", async () => {
    const kubeletPort = await startKubelet({ request: (_request, response) => response.end("log") });
    const trusting = await startApiServer({ kubeletPort, kubelet: { ca: pki.authority.cert } });
    expect(await get(trusting, logUrl)).toMatchObject({ code: 200, body: "log" });
    const suspicious = await startApiServer({ kubeletPort, kubelet: { ca: otherPki.authority.cert } });
    const refused = await get(suspicious, logUrl);
    expect(JSON.parse(refused.body).message).toMatch(/x509: certificate signed by unknown authority$/);
    const waived = await get(suspicious, `${logUrl}?insecureSkipTLSVerifyBackend=true`);
    expect(waived).toMatchObject({ code: 200, body: "log" });
  });

  test("a loopback address is refused unless the cluster is one machine", async () => {
    const kubeletPort = await startKubelet({ request: (_request, response) => response.end() });
    const port = await startApiServer({ kubeletPort, kubelet: { allowLoopback: false } });
    expect(JSON.parse((await get(port, logUrl)).body)).toMatchObject({
      code: 400,
      message: "address not allowed",
    });
  });

  test("a node that is gone, a method that makes no sense", async () => {
    const port = await startApiServer({ kubeletPort: 1, nodeName: "n2" });
    expect(JSON.parse((await get(port, logUrl)).body)).toMatchObject({
      code: 404,
      message: 'nodes "n2" not found',
    });
    expect(await get(port, logUrl, "", { method: "POST" })).toMatchObject({ code: 405 });
  });
});

describe("streams", () => {
  /** Sends an upgrade request by hand, with bytes right behind it. */
  async function upgrade(port: number, path: string, options: { headers?: string[]; early?: string } = {}) {
    const socket = connect({ port, host: "127.0.0.1", ca: pki.authority.cert });
    closers.push(() => socket.destroy());
    const headers = ["Host: api", "Connection: Upgrade", "Upgrade: websocket", ...(options.headers ?? [])];
    socket.write(`GET ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${options.early ?? ""}`);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    const closed = closeOf(socket);
    return { socket, closed, received: () => received };
  }

  /** Upgrades, says hello at once and echoes. */
  function echo(seen: { request?: IncomingMessage; socket?: Duplex } = {}): FakeKubelet {
    return {
      upgrade(request, socket, head) {
        Object.assign(seen, { request, socket });
        socket.on("error", () => {});
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-A: 1\r\nX-A: 2\r\n\r\nhello;",
        );
        socket.unshift(head);
        socket.pipe(socket);
      },
    };
  }

  test("bytes go both ways untouched, early ones too", async () => {
    const seen: { request?: IncomingMessage } = {};
    const port = await startApiServer({ kubeletPort: await startKubelet(echo(seen)) });
    const client = await upgrade(port, execUrl, {
      early: "early;",
      headers: [
        "Authorization: Bearer secret",
        "Impersonate-User: admin",
        "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io",
        "X-Stream-Protocol-Version: v4",
        "X-Stream-Protocol-Version: v3",
      ],
    });
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index)).toString("latin1");
    client.socket.write(Buffer.from(bytes, "latin1"));
    await expect.poll(() => client.received().endsWith(bytes)).toBe(true);
    expect(client.received()).toBe(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-A: 1\r\nX-A: 2\r\n\r\nhello;early;${bytes}`,
    );
    expect(seen.request?.url).toBe("/exec/ns/web/a?command=sh&input=1");
    expect(seen.request?.headersDistinct).toMatchObject({
      "sec-websocket-protocol": ["v5.channel.k8s.io"],
      "x-stream-protocol-version": ["v4", "v3"],
      "x-forwarded-for": ["127.0.0.1"],
    });
    expect(Object.keys(seen.request?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(authorization|impersonate-user)$/)]),
    );
  });

  test("when the kubelet ends, the client gets the rest and is closed", async () => {
    const rest = "x".repeat(500_000);
    const kubeletPort = await startKubelet({
      upgrade: (_request, socket) =>
        socket.end(
          `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${rest}`,
        ),
    });
    const client = await upgrade(await startApiServer({ kubeletPort }), execUrl);
    await client.closed;
    expect(client.received().endsWith(`\r\n\r\n${rest}`)).toBe(true);
  });

  test("when the client ends, the kubelet's side is closed", async () => {
    const seen: { socket?: Duplex } = {};
    const port = await startApiServer({ kubeletPort: await startKubelet(echo(seen)) });
    const client = await upgrade(port, execUrl);
    await expect.poll(() => client.received().endsWith("hello;")).toBe(true);
    const kubeletClosed = closeOf(seen.socket as Duplex);
    client.socket.end();
    await kubeletClosed;
    await client.closed;
  });

  test("a client that leaves before the kubelet answers cancels the call", async () => {
    let arrived: (socket: Duplex) => void = () => {};
    const atKubelet = new Promise<Duplex>((resolve) => {
      arrived = resolve;
    });
    const kubeletPort = await startKubelet({
      upgrade: (_request, socket) => {
        socket.on("error", () => {});
        socket.resume();
        arrived(socket);
      },
    });
    const client = await upgrade(await startApiServer({ kubeletPort }), execUrl);
    const closed = closeOf(await atKubelet);
    client.socket.destroy();
    await closed;
  });

  test("a kubelet's refusal goes to the client as it is", async () => {
    const kubeletPort = await startKubelet({
      request: (_request, response) => response.writeHead(403, { "content-type": "text/x" }).end("no way"),
      upgrade: (_request, socket) =>
        socket.end("HTTP/1.1 403 Forbidden\r\nContent-Type: text/x\r\nContent-Length: 6\r\n\r\nno way"),
    });
    const client = await upgrade(await startApiServer({ kubeletPort }), execUrl);
    await client.closed;
    expect(client.received()).toMatch(
      /^HTTP\/1\.1 403 Forbidden\r\ncontent-type: text\/x\r\n[\s\S]*\r\n\r\nno way$/,
    );
  });

  test("an answer that is neither refusal nor upgrade", async () => {
    const kubeletPort = await startKubelet({
      upgrade: (_request, socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    });
    const client = await upgrade(await startApiServer({ kubeletPort }), execUrl);
    await client.closed;
    expect(client.received()).toMatch(/"message":"invalid upgrade response: status code 200"/);
  });

  test("a kubelet that is down", async () => {
    const client = await upgrade(await startApiServer({ kubeletPort: 1 }), execUrl);
    await client.closed;
    expect(client.received()).toMatch(
      /^HTTP\/1\.1 500 [\s\S]*"message":"error dialing backend: dial tcp 127\.0\.0\.1:1: connect: connection refused"/,
    );
  });

  test("a pod without a node", async () => {
    const client = await upgrade(await startApiServer({ kubeletPort: 1, nodeName: "" }), execUrl);
    await client.closed;
    expect(client.received()).toMatch(/"message":"pod web does not have a host assigned"/);
  });

  test("without an upgrade there is no stream", async () => {
    const answer = await get(await startApiServer({ kubeletPort: 1 }), execUrl, "", { method: "POST" });
    expect(JSON.parse(answer.body)).toMatchObject({ code: 400, message: "Upgrade request required" });
  });
});

describe("nodes", () => {
  const echoRequest: FakeKubelet = {
    async request(request, response) {
      const { method, url, headers } = request;
      const body = await text(request);
      response.writeHead(201, { "x-kubelet": "yes", "access-control-allow-origin": "*" });
      response.end(JSON.stringify({ method, url, headers, body }));
    },
  };

  test("method, path, query, headers and body pass through; credentials do not", async () => {
    const port = await startApiServer({ kubeletPort: await startKubelet(echoRequest) });
    const url = "/api/v1/nodes/n1/proxy/some/%2Fpath?a=b%20c";
    const headers = { authorization: "Bearer secret", "x-own": "1" };
    const answer = await get(port, url, "x".repeat(200_000), { method: "PUT", headers });
    expect(answer).toMatchObject({ code: 201, headers: { "x-kubelet": "yes" } });
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    const seen = JSON.parse(answer.body);
    expect(seen).toMatchObject({ method: "PUT", url: "/some/%2Fpath?a=b%20c", headers: { "x-own": "1" } });
    expect(seen.body).toHaveLength(200_000);
    expect(seen.headers).not.toHaveProperty("authorization");
  });

  test.each([
    ["/api/v1/nodes/n1/proxy", "/"],
    ["/api/v1/nodes/n1/proxy?x=1", "/?x=1"],
  ])("%s is %s", async (url, expected) => {
    const port = await startApiServer({ kubeletPort: await startKubelet(echoRequest) });
    expect(JSON.parse((await get(port, url)).body).url).toBe(expected);
  });

  test("the kubelet's port may be named, no other", async () => {
    const kubeletPort = await startKubelet(echoRequest);
    const port = await startApiServer({ kubeletPort });
    expect((await get(port, `/api/v1/nodes/n1:${kubeletPort}/proxy/x`)).code).toBe(201);
    expect((await get(port, `/api/v1/nodes/https:n1:${kubeletPort}/proxy/x`)).code).toBe(201);
    expect((await get(port, "/api/v1/nodes/n1:22/proxy/x")).code).toBe(400);
  });

  test.each([
    ["/logs/", 301, "/api/v1/nodes/n1/proxy/logs/"],
    ["https://10.1.1.1/", 502, undefined],
    ["//10.1.1.1/", 502, undefined],
  ])("a redirect to %s", async (location, code, expected) => {
    const kubeletPort = await startKubelet({
      request: (_request, response) => response.writeHead(301, { location }).end(),
    });
    const answer = await get(await startApiServer({ kubeletPort }), "/api/v1/nodes/n1/proxy/logs");
    expect(answer.code).toBe(code);
    expect(answer.headers.location).toBe(expected);
  });

  test("a kubelet that is down", async () => {
    const answer = await get(await startApiServer({ kubeletPort: 1 }), "/api/v1/nodes/n1/proxy/metrics");
    expect(JSON.parse(answer.body)).toMatchObject({
      code: 503,
      reason: "ServiceUnavailable",
      message: "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused",
    });
  });
});
