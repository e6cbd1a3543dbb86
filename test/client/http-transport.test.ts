import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { ConfigMap } from "../../src/api/meta/objects.ts";
import { createClient } from "../../src/client/api/create-client.ts";
import { createHttpTransport, type HttpTransportOptions } from "../../src/client/transport/http-transport.ts";
import { type Transport, TransportError } from "../../src/client/transport/transport.ts";

const cleanups: (() => unknown)[] = [];

async function serve(listener: RequestListener): Promise<{ server: Server; url: URL }> {
  // Longer than any test takes: connections that are kept stay.
  const server = createServer({ keepAliveTimeout: 600_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) };
}

function connect(server: URL, options: Partial<HttpTransportOptions> = {}): Transport {
  const transport = createHttpTransport({ access: { server, tls: {} }, ...options });
  cleanups.push(() => transport.close());
  return transport;
}

const get = { method: "GET", path: "/", headers: {} };

describe("the HTTP transport", () => {
  afterEach(() => {
    for (const clean of cleanups.splice(0)) clean();
  });

  test("delivers events whose chunks split characters", async () => {
    const event = (name: string) =>
      Buffer.from(
        `${JSON.stringify({ type: "ADDED", object: { metadata: { name, resourceVersion: "1" }, data: { a: "Zürich 東京 🚀" } } })}\n`,
      );
    let release: (() => void) | undefined;
    const firstRead = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { url } = await serve(async (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      // Byte by byte, each in a separate packet.
      for (const byte of event("first")) {
        response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const second = event("second");
      const cut = second.indexOf("東") + 1;
      response.write(second.subarray(0, cut));
      await firstRead;
      response.end(second.subarray(cut));
    });
    const client = createClient({ transport: connect(url) });
    const objects: ConfigMap[] = [];
    for await (const change of client.watch("configmaps", { resourceVersion: "0" })) {
      if (change.type === "ADDED") objects.push(change.object);
      release?.();
    }
    expect(objects.map((object) => object.metadata.name)).toEqual(["first", "second"]);
    for (const object of objects) expect(object.data).toEqual({ a: "Zürich 東京 🚀" });
  });

  test("serves calls while far more watches are open than calls may have connections", async () => {
    const { url } = await serve((request, response) => {
      if (request.url === "/watch") response.writeHead(200).write("\n");
      else response.end("done");
    });
    const transport = connect(url, { maxConnections: 2 });
    const watch = { ...get, path: "/watch", longLived: true };
    await Promise.all(Array.from({ length: 20 }, () => transport.send(watch)));
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await transport.send(get)).text()),
    );
    expect(answers).toEqual(Array(20).fill("done"));
  });

  test("times out without a TLS handshake", async () => {
    const sockets: Socket[] = [];
    const mute = createTcpServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy();
      mute.close();
    });
    const url = new URL(`https://127.0.0.1:${(mute.address() as AddressInfo).port}`);
    const sent = connect(url, { connectTimeoutMs: 50 }).send(get);
    await expect(sent).rejects.toThrow(
      `GET ${url.origin}/: the connection was not established within 0.05 s`,
    );
    await expect(sent).rejects.toBeInstanceOf(TransportError);
  });

  test("times out on missing and incomplete responses, but not on an idle watch", async () => {
    const { url } = await serve((request, response) => {
      if (request.url === "/never") return;
      response.writeHead(200).write("half");
      if (request.url === "/watch") setTimeout(() => response.end(" and half"), 1_000);
    });
    const transport = connect(url, { idleTimeoutMs: 500 });
    await expect(transport.send({ ...get, path: "/never" })).rejects.toThrow("no data received for 0.5 s");
    // On a busy machine its beginning may be late already.
    const half = transport.send({ ...get, path: "/half" }).then((answer) => answer.text());
    await expect(half).rejects.toThrow("no data received for 0.5 s");
    const watch = await transport.send({ ...get, path: "/watch", longLived: true });
    expect(await watch.text()).toBe("half and half");
  });

  test("distinguishes a truncated response from a complete one", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200).write("half", () => response.destroy());
    });
    const response = await connect(url).send(get);
    await expect(response.text()).rejects.toBeInstanceOf(TransportError);
  });

  test("throws the signal's reason, whether it aborts before, while waiting, or while reading", async () => {
    const { url } = await serve((request, response) => {
      if (request.url === "/chunks") response.writeHead(200).write("x");
    });
    const transport = connect(url);
    const reason = new Error("no longer wanted");
    await expect(transport.send({ ...get, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

    const waiting = new AbortController();
    const sent = transport.send({ ...get, signal: waiting.signal });
    setImmediate(() => waiting.abort(reason));
    await expect(sent).rejects.toBe(reason);

    const reading = new AbortController();
    const response = await transport.send({ ...get, path: "/chunks", signal: reading.signal });
    const read = (async () => {
      for await (const _ of response.chunks()) reading.abort(reason);
    })();
    await expect(read).rejects.toBe(reason);
  });

  test("retries when the server has closed a kept-alive connection", async () => {
    let requests = 0;
    const { server, url } = await serve((request, response) => {
      requests++;
      if (requests === 2) request.socket.resetAndDestroy();
      else response.end("done");
    });
    const transport = connect(url);
    const ask = async (method: string) => (await transport.send({ ...get, method })).text();
    expect(await ask("GET")).toBe("done");
    expect(await ask("GET")).toBe("done");
    expect(requests).toBe(3);
    // A second creation could be one too many: that is for the caller to decide.
    requests = 1;
    await expect(ask("POST")).rejects.toBeInstanceOf(TransportError);
    expect(requests).toBe(2);
    expect(server.listening).toBe(true);
  });

  test("aborts pending requests when it is closed", async () => {
    const { url } = await serve((_, response) => void response.writeHead(200).write("x"));
    const transport = connect(url);
    const response = await transport.send({ ...get, longLived: true });
    transport.close();
    await expect(response.text()).rejects.toBeInstanceOf(TransportError);
    await expect(transport.send(get)).rejects.toThrow(`the client for ${url.origin} is closed`);
  });

  test("sends requests below a base path, with the current token", async () => {
    const { url } = await serve((request, response) => {
      response.setHeader("x-seen", [
        `${request.method} ${request.url}`,
        String(request.headers.authorization),
      ]);
      request.pipe(response);
    });
    let token = "one";
    const access = { server: new URL("/prefix/", url), tls: {}, token: async () => token };
    const transport = createHttpTransport({ access });
    cleanups.push(() => transport.close());
    const post = { ...get, method: "POST", path: "/api?x=1", body: "ä" };
    const first = await transport.send(post);
    expect(first.headers["x-seen"]).toBe("POST /prefix/api?x=1, Bearer one");
    expect(await first.text()).toBe("ä");
    token = "two";
    const second = await transport.send(post);
    expect(second.headers["x-seen"]).toContain("Bearer two");
    await second.text();
  });
});
