import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { type AdmissionPlugin, forbidIf } from "../../../admission/admission-chain.ts";
import { closeOf, type FakeKubelet, useKubeletProxy } from "./kubelet-proxy.fixture.ts";

const { get, startApiServer, startKubelet, upgrade } = useKubeletProxy();
const execUrl = "/api/v1/namespaces/ns/pods/web/exec?command=sh&stdin=true";

/** Upgrades, sends a greeting and echoes its input. */
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

test("forwards bytes unchanged in both directions, including early ones", async () => {
  const seen: { request?: IncomingMessage } = {};
  const port = await startApiServer({ kubeletPort: await startKubelet(echo(seen)) });
  const client = upgrade(port, execUrl, {
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

test("closes the client after the remaining bytes when the kubelet disconnects", async () => {
  const rest = "x".repeat(500_000);
  const kubeletPort = await startKubelet({
    upgrade: (_request, socket) =>
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${rest}`,
      ),
  });
  const client = upgrade(await startApiServer({ kubeletPort }), execUrl);
  await client.closed;
  expect(client.received().endsWith(`\r\n\r\n${rest}`)).toBe(true);
});

test("closes the kubelet's side when the client disconnects", async () => {
  const seen: { socket?: Duplex } = {};
  const port = await startApiServer({ kubeletPort: await startKubelet(echo(seen)) });
  const client = upgrade(port, execUrl);
  await expect.poll(() => client.received().endsWith("hello;")).toBe(true);
  const kubeletClosed = closeOf(seen.socket as Duplex);
  client.socket.end();
  await kubeletClosed;
  await client.closed;
});

test("a client that disconnects before the kubelet responds cancels the call", async () => {
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
  const client = upgrade(await startApiServer({ kubeletPort }), execUrl);
  const closed = closeOf(await atKubelet);
  client.socket.destroy();
  await closed;
});

test("an error response of the kubelet is forwarded unchanged", async () => {
  const kubeletPort = await startKubelet({
    request: (_request, response) => response.writeHead(403, { "content-type": "text/x" }).end("no way"),
    upgrade: (_request, socket) =>
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Type: text/x\r\nContent-Length: 6\r\n\r\nno way"),
  });
  const client = upgrade(await startApiServer({ kubeletPort }), execUrl);
  await client.closed;
  expect(client.received()).toMatch(
    /^HTTP\/1\.1 403 Forbidden\r\ncontent-type: text\/x\r\n[\s\S]*\r\n\r\nno way$/,
  );
});

test("a response that is neither an error nor an upgrade is an error", async () => {
  const kubeletPort = await startKubelet({
    upgrade: (_request, socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
  });
  const client = upgrade(await startApiServer({ kubeletPort }), execUrl);
  await client.closed;
  expect(client.received()).toMatch(/"message":"invalid upgrade response: status code 200"/);
});

test("a kubelet that is down", async () => {
  const client = upgrade(await startApiServer({ kubeletPort: 1 }), execUrl);
  await client.closed;
  expect(client.received()).toMatch(
    /^HTTP\/1\.1 500 [\s\S]*"message":"error dialing backend: dial tcp 127\.0\.0\.1:1: connect: connection refused"/,
  );
});

test("a pod without a node", async () => {
  const client = upgrade(await startApiServer({ kubeletPort: 1, nodeName: "" }), execUrl);
  await client.closed;
  expect(client.received()).toMatch(/"message":"pod web does not have a host assigned"/);
});

test("rejects a stream without an upgrade", async () => {
  const answer = await get(await startApiServer({ kubeletPort: 1 }), execUrl, { method: "POST" });
  expect(JSON.parse(answer.body)).toMatchObject({ code: 400, message: "Upgrade request required" });
});

test.each(["exec", "attach", "portforward"])("%s is admitted as a CONNECT", async (subresource) => {
  const seen: string[] = [];
  const reject: AdmissionPlugin = {
    name: "reject",
    handles: (operation) => operation === "connect",
    validate(request) {
      const { operation, ref, user } = request;
      seen.push(`${user.username} ${operation} ${ref.namespace}/${ref.name} ${request.subresource}`);
      forbidIf(request, "streams are disabled");
    },
  };
  const port = await startApiServer({ kubeletPort: await startKubelet(echo()), plugins: [reject] });
  const client = upgrade(port, `/api/v1/namespaces/ns/pods/web/${subresource}?command=sh`);
  await client.closed;
  expect(client.received()).toContain("streams are disabled");
  expect(seen).toEqual([`admin connect ns/web ${subresource}`]);
});

test("an exec adds few listeners to its connections", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
  process.on("warning", onWarning);
  const sockets: Duplex[] = [];
  const port = await startApiServer({
    kubeletPort: await startKubelet(echo()),
    onUpgrade: (socket) => sockets.push(socket),
  });
  const client = upgrade(port, execUrl);
  await expect.poll(client.received).toContain("hello;");
  client.socket.write("ping;");
  await expect.poll(client.received).toContain("ping;");
  const [socket] = sockets;
  // Node.js warns of a leak from 11 on. TLS and HTTP have some, and the API server's own listener adds one.
  expect(socket?.listenerCount("close")).toBeLessThanOrEqual(8);
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
});
