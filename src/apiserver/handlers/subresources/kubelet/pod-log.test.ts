import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { useKubeletProxy } from "./kubelet-proxy.fixture.ts";

const { ca, get, listen, makeOtherCa, open, startApiServer, startKubelet } = useKubeletProxy();
const logUrl = "/api/v1/namespaces/ns/pods/web/log";

test("logs are requested with the server's certificate and forwarded as text", async () => {
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

test("logs are followed line by line; when the client disconnects, the request to the kubelet ends", async () => {
  const answers: ServerResponse[] = [];
  const kubeletPort = await startKubelet({
    request(_request, response) {
      answers.push(response);
      response.flushHeaders();
    },
  });
  const client = open(await startApiServer({ kubeletPort }), `${logUrl}?follow=true`);
  client.end();
  const [response] = (await once(client, "response")) as [IncomingMessage];
  const [answer] = answers;
  if (!answer) throw new Error("the kubelet received no request");
  for (const line of ["first\n", "second\n"]) {
    answer.write(line);
    expect(String((await once(response, "data"))[0])).toBe(line);
  }
  const closed = once(answer, "close");
  client.destroy();
  await closed;
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

test("logs of a pod without a node are empty", async () => {
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

test("a kubelet that does not respond", async () => {
  const kubeletPort = await listen(createTcpServer());
  const port = await startApiServer({ kubeletPort, kubelet: { connectTimeoutMs: 50 } });
  const answer = await get(port, logUrl);
  expect(JSON.parse(answer.body).message).toMatch(/dial tcp 127\.0\.0\.1:\d+: i\/o timeout$/);
});

test("a kubelet that disconnects before it responds is an error", async () => {
  const kubeletPort = await startKubelet({ request: (request) => request.socket.destroy() });
  const answer = await get(await startApiServer({ kubeletPort }), logUrl);
  expect(JSON.parse(answer.body).message).toMatch(/: EOF$/);
});

test("a kubelet that upgrades without a request", async () => {
  const kubeletPort = await startKubelet({
    request: ({ socket }) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    },
  });
  const answer = await get(await startApiServer({ kubeletPort }), logUrl);
  expect(JSON.parse(answer.body).code).toBe(500);
});

test("verifies the kubelet's certificate with the configured CA, unless the client disables it", async () => {
  const kubeletPort = await startKubelet({ request: (_request, response) => response.end("log") });
  const trusting = await startApiServer({ kubeletPort, kubelet: { ca: ca() } });
  expect(await get(trusting, logUrl)).toMatchObject({ code: 200, body: "log" });
  const suspicious = await startApiServer({ kubeletPort, kubelet: { ca: await makeOtherCa() } });
  const refused = await get(suspicious, logUrl);
  expect(JSON.parse(refused.body).message).toMatch(/x509: certificate signed by unknown authority$/);
  const waived = await get(suspicious, `${logUrl}?insecureSkipTLSVerifyBackend=true`);
  expect(waived).toMatchObject({ code: 200, body: "log" });
});

test("rejects a loopback address unless the cluster is one machine", async () => {
  const kubeletPort = await startKubelet({ request: (_request, response) => response.end() });
  const port = await startApiServer({ kubeletPort, kubelet: { allowLoopback: false } });
  expect(JSON.parse((await get(port, logUrl)).body)).toMatchObject({
    code: 400,
    message: "address not allowed",
  });
});

test("a deleted node and an unsupported method are errors", async () => {
  const port = await startApiServer({ kubeletPort: 1, nodeName: "n2" });
  expect(JSON.parse((await get(port, logUrl)).body)).toMatchObject({
    code: 404,
    message: 'nodes "n2" not found',
  });
  expect(await get(port, logUrl, { method: "POST" })).toMatchObject({ code: 405 });
});

test.each([
  { protocols: [], expected: [Buffer.alloc(0), Buffer.from("one\n")] },
  { protocols: ["binary.k8s.io"], expected: [Buffer.alloc(0), Buffer.from("one\n")] },
  { protocols: ["base64.binary.k8s.io"], expected: ["", "b25lCg=="] },
])("logs are sent over WebSocket with the protocols $protocols", async ({ protocols, expected }) => {
  const kubeletPort = await startKubelet({ request: (_request, response) => void response.end("one\n") });
  const port = await startApiServer({ kubeletPort });
  const client = new WebSocket(`wss://127.0.0.1:${port}${logUrl}`, protocols, { ca: ca() });
  const messages: unknown[] = [];
  client.on("message", (data: Buffer, isBinary) => messages.push(isBinary ? data : data.toString()));
  const [code] = await once(client, "close");
  expect(code).toBe(1000);
  expect(client.protocol).toBe(protocols[0] ?? "");
  expect(messages).toEqual(expected);
});

test("when a WebSocket client disconnects, the request for the followed log ends", async () => {
  const answers: ServerResponse[] = [];
  const kubeletPort = await startKubelet({
    request(_request, response) {
      answers.push(response);
      response.flushHeaders();
    },
  });
  const port = await startApiServer({ kubeletPort });
  const client = new WebSocket(`wss://127.0.0.1:${port}${logUrl}?follow=true`, { ca: ca() });
  await once(client, "message");
  const [answer] = answers;
  if (!answer) throw new Error("the kubelet received no request");
  const closed = once(answer, "close");
  client.close();
  await closed;
});
