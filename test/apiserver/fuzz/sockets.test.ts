import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLogger } from "../../../src/lib/logger.ts";
import { readCredentials, startTestServer, type TestServer } from "../../support/servers/api-server.ts";

/** Requests that HTTP libraries never send, on raw TLS connections. */
let server: TestServer;
let credentials: Awaited<ReturnType<typeof readCredentials>>;
const errors: string[] = [];
const open = new Set<TLSSocket>();

beforeAll(async () => {
  const destination = { write: (line: string) => errors.push(line) };
  server = await startTestServer({ logger: createLogger({ format: "json", level: "error", destination }) });
  credentials = await readCredentials(server.kubeconfig);
});
afterAll(async () => {
  for (const socket of open) socket.destroy();
  await server.close();
});

async function dial(): Promise<TLSSocket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect({ host: hostname, port: Number(port), ...credentials });
  await once(socket, "secureConnect");
  open.add(socket);
  socket.on("error", () => {});
  return socket;
}

/** Received text until the server closes the connection or `pattern` matches. */
async function exchange(bytes: string | Buffer, pattern = /(?!)/): Promise<string> {
  const socket = await dial();
  let text = "";
  const done = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`neither an answer nor an end: ${text}`)), 60_000);
    const finish = () => {
      clearTimeout(timer);
      resolve();
    };
    socket.on("data", (chunk) => {
      text += chunk;
      if (pattern.test(text)) finish();
    });
    socket.on("close", finish);
  });
  socket.write(bytes);
  await done;
  socket.destroy();
  open.delete(socket);
  return text;
}

const head = (line: string, ...headers: string[]) => [line, "Host: x", ...headers, "", ""].join("\r\n");
const path = "/api/v1/namespaces/default/configmaps";
const json = "Content-Type: application/json";
const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

describe("on a raw connection", () => {
  test.each([
    ["no HTTP at all", "hello\r\n\r\n", 400],
    ["bytes", Buffer.from([0, 1, 2, 3, 255, 254, 13, 10, 13, 10]), 400],
    ["HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["an unknown method", head("BREW /api HTTP/1.1"), 400],
    ["a header without a name", head("GET /api HTTP/1.1", ": x"), 400],
    ["a header with a line break", "GET /api HTTP/1.1\r\nHost: x\r\nA: b\n c\r\nd\r\n\r\n", 400],
    ["too many header bytes", head("GET /api HTTP/1.1", `X: ${"x".repeat(40_000)}`), 431],
    [
      "two lengths",
      `${head(`POST ${path} HTTP/1.1`, json, "Content-Length: 2", "Content-Length: 3")}{}`,
      400,
    ],
    [
      "a length and chunks",
      `${head(`POST ${path} HTTP/1.1`, json, "Content-Length: 2", "Transfer-Encoding: chunked")}{}`,
      400,
    ],
    ["a negative length", head(`POST ${path} HTTP/1.1`, json, "Content-Length: -1"), 400],
    [
      "chunks that are none",
      `${head(`POST ${path} HTTP/1.1`, json, "Transfer-Encoding: chunked")}zz\r\n{}\r\n0\r\n\r\n`,
      400,
    ],
    ["a body that says it is too long", head(`POST ${path} HTTP/1.1`, json, "Content-Length: 4000000"), 413],
    ["no host", "GET /livez HTTP/1.1\r\n\r\n", 400],
    ["an upgrade to nonsense", head(`GET ${path} HTTP/1.1`, "Connection: Upgrade", "Upgrade: nonsense"), 400],
    [
      "an upgrade of a health check",
      head("GET /livez HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket"),
      400,
    ],
    ["a tunnel", "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n", undefined],
    ["a whole URL as the target", head("GET https://other.example/api HTTP/1.1", "Connection: close"), 404],
  ])("%s", async (_, bytes, status) => {
    const text = await exchange(bytes, /HTTP\/1\.1 \d+[\s\S]*\r\n\r\n/);
    expect(statuses(text)).toEqual(status === undefined ? [] : [status]);
  });

  test("responds to pipelined requests in order", async () => {
    const one = head("GET /livez HTTP/1.1");
    const text = await exchange(one.repeat(20) + head("GET /version HTTP/1.1", "Connection: close"));
    expect(statuses(text)).toEqual(Array(21).fill(200));
    expect(text.lastIndexOf("gitVersion")).toBeGreaterThan(text.lastIndexOf("ok"));
  });

  test("rejects a chunked body above the limit", async () => {
    const chunk = `${(64 * 1_024).toString(16)}\r\n${"x".repeat(64 * 1_024)}\r\n`;
    const text = await exchange(
      head(`POST ${path} HTTP/1.1`, json, "Transfer-Encoding: chunked") + chunk.repeat(50),
      /\r\n\r\n/,
    );
    expect(statuses(text)).toEqual([413]);
  });

  test("does not parse the excess of a body as a second request", async () => {
    const body = '{"metadata":{"name":"short"}}';
    const first = head(`POST ${path} HTTP/1.1`, json, `Content-Length: ${body.length}`) + body;
    const text = await exchange(`${first}garbage\r\n\r\n`, /HTTP\/1\.1 400/);
    // Node drops a pending response when invalid HTTP follows.
    expect(statuses(text).at(-1)).toBe(400);
    expect(text).not.toMatch(/HTTP\/1\.1 5/);
  });

  test("does not parse the rest of a rejected body as a request", async () => {
    const smuggled = head(`DELETE ${path}/kube-root-ca.crt HTTP/1.1`, "Connection: close");
    const refused = head(
      "POST /api/v1/namespaces/default/configmaps/x/y HTTP/1.1",
      json,
      `Content-Length: ${smuggled.length}`,
    );
    const text = await exchange(refused + smuggled);
    expect(statuses(text)).toHaveLength(1);
    expect((await server.call("GET", `${path}/kube-root-ca.crt`)).status).toBe(200);
  });
});

describe("slow clients", () => {
  test("that delay their headers, or disconnect in the middle, delay no other client", async () => {
    const slow = await Promise.all(Array.from({ length: 60 }, dial));
    for (const [i, socket] of slow.entries()) {
      socket.write(
        i % 2
          ? `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Slow: `
          : `${head(`POST ${path} HTTP/1.1`, json, "Content-Length: 1000")}{"metadata":`,
      );
    }
    await Promise.all(Array.from({ length: 50 }, () => server.json("GET", path)));
    // All of them are still connected: no other request waited until they were cut off.
    expect(slow.filter(({ closed }) => closed)).toEqual([]);
    for (const socket of slow) socket.destroy();
  });

  test("of a watch cause no unbounded memory", async () => {
    const readers = await Promise.all(Array.from({ length: 10 }, dial));
    for (const socket of readers) {
      socket.pause();
      socket.write(head(`GET ${path}?watch=true HTTP/1.1`));
    }
    const data = { filler: "x".repeat(500_000) };
    await server.json("POST", path, { metadata: { name: "big" }, data });
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 40; i++) {
      await server.json("PUT", `${path}/big`, { metadata: { name: "big" }, data: { ...data, i: String(i) } });
    }
    // Kept for each of the ten it would be 200 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
    for (const socket of readers) socket.destroy();
  });
});

test("afterwards the server is healthy and its log has no errors", async () => {
  expect((await server.call("GET", "/readyz")).text).toBe("ok");
  expect(errors).toEqual([]);
});
