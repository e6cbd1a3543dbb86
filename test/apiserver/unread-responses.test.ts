import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createManualClock, type ManualClock } from "../../src/lib/manual-clock.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../support/servers/api-server.ts";
import { dialServer, openUnread, readMetric } from "../support/servers/unread-client.ts";

const path = "/api/v1/namespaces/default/configmaps";
const unreadBytes = "kindling_apiserver_unread_bytes";
const disconnected = (reason: "timeout" | "memory") =>
  `kindling_apiserver_disconnected_readers_total{reason="${reason}"}`;
const mebibyte = 1_024 * 1_024;

/** Longer together than what the kernel keeps for a connection that is not read. */
async function fill(server: TestServer, objects = 40): Promise<void> {
  const data = { filler: "x".repeat(mebibyte - 1_000) };
  for (let i = 0; i < objects; i++) await server.json("POST", path, { metadata: { name: `big-${i}` }, data });
}

async function startFilled(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  await fill(server);
  return server;
}

/** Advances the clock by seconds until no reader has read for three of them. Returns the unread bytes. */
async function untilStuck(server: TestServer, clock: ManualClock): Promise<number> {
  const seen: number[] = [];
  const isStuck = async () => {
    await clock.advance(1_000);
    seen.unshift(await readMetric(server, unreadBytes));
    return seen.length > 3 && seen.slice(0, 4).every((bytes) => bytes > 0 && bytes === seen[0]);
  };
  await expect.poll(isStuck, { interval: 200 }).toBe(true);
  return seen[0] ?? 0;
}

async function readAll(socket: TLSSocket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await once(socket, "end");
  return Buffer.concat(chunks).toString("latin1");
}

describe("with a stopped clock", () => {
  let server: TestServer;
  let clock: ManualClock;
  beforeAll(async () => {
    clock = createManualClock(Date.now());
    server = await startTestServer({ clock });
    await fill(server);
  });
  afterAll(() => server.close());

  test("a list that is not read costs its reader one slice, and its connection is closed after 60 s", async () => {
    const readers = await openUnread(server, path, 20);
    const openedAt = clock.now();
    // A slice for each, and a reference for each object.
    expect(await untilStuck(server, clock)).toBeLessThan(20 * 70_000);

    const closed = readers.map((socket) => once(socket, "close"));
    await clock.advance(openedAt + 58_000 - clock.now());
    expect(await readMetric(server, disconnected("timeout"))).toBe(0);
    await clock.advance(61_000);
    expect(await readMetric(server, disconnected("timeout"))).toBe(20);
    for (const socket of readers) socket.resume();
    await Promise.all(closed);
    await clock.advance(1_000);
    expect(await readMetric(server, unreadBytes)).toBe(0);
  });

  test("a client that reads slowly is not disconnected", async () => {
    const [socket] = await openUnread(server, path, 1);
    if (!socket) throw new Error("no connection");
    const before = await readMetric(server, disconnected("timeout"));
    let bytes = 0;
    let wanted = 0;
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes >= wanted) socket.pause();
    });
    // Ten times ten seconds, and each time more than the kernel keeps in three of them.
    for (wanted = 4 * mebibyte; wanted <= 36 * mebibyte; wanted += 4 * mebibyte) {
      socket.resume();
      await expect.poll(() => bytes).toBeGreaterThanOrEqual(wanted);
      await clock.advance(10_000);
    }
    expect(await readMetric(server, disconnected("timeout"))).toBe(before);
    expect(socket.closed).toBe(false);
  });

  test("a watch whose events are not read is closed after 60 s; one that has nothing to read stays", async () => {
    const [idle] = await openUnread(server, "/api/v1/namespaces/default/serviceaccounts?watch=true", 1);
    const [stuck] = await openUnread(server, `${path}?watch=true`, 1);
    if (!idle || !stuck) throw new Error("no connection");
    idle.resume();
    await untilStuck(server, clock);
    const closed = once(stuck, "close");
    await clock.advance(61_000);
    stuck.resume();
    await closed;
    expect(idle.closed).toBe(false);
  });
});

test("when unread responses take too much memory, the slowest readers are disconnected and others are served", async () => {
  const server = await startFilled({ limits: { maxUnreadBytes: 2 * mebibyte } });
  const readers = await openUnread(server, path, 60);
  await expect.poll(() => readMetric(server, disconnected("memory"))).toBeGreaterThan(0);
  expect(await readMetric(server, unreadBytes)).toBeLessThanOrEqual(2 * mebibyte);
  const list = await server.json<{ items: unknown[] }>("GET", path);
  expect(list.items.length).toBeGreaterThanOrEqual(40);
  for (const socket of readers) socket.destroy();
});

test("lists that are not read take no slot of the requests in flight", async () => {
  const server = await startFilled();
  await openUnread(server, path, 20);
  await openUnread(server, `${path}?watch=true`, 20);
  // The one that asks.
  const name = 'apiserver_current_inflight_requests{request_kind="readOnly"}';
  expect(await readMetric(server, name)).toBe(1);
  expect(await readMetric(server, 'apiserver_longrunning_requests{verb="WATCH"}')).toBe(20);
});

test("requests that are sent before earlier ones are read are not processed ahead of them", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const data = { filler: "x".repeat(300_000) };
  await server.json("POST", path, { metadata: { name: "one" }, data });
  const socket = await dialServer(server);
  // As many as arrive at once, in one TLS record.
  const count = 150;
  const get = `GET ${path}/one HTTP/1.1\r\nHost: x\r\n\r\n`;
  const last = `GET ${path}/one HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  socket.pause();
  socket.write(get.repeat(count - 1) + last);
  const name =
    'apiserver_request_total{dry_run="",component="apiserver",verb="GET",group="",version="v1",resource="configmaps",subresource="",scope="resource",code="200"}';
  let processed = -1;
  await expect
    .poll(
      async () => {
        const before = processed;
        processed = await readMetric(server, name);
        return processed > 0 && processed === before;
      },
      { interval: 500 },
    )
    .toBe(true);
  // What the kernel keeps, and the one that is being written.
  expect(processed).toBeLessThan(count);
  const answers = await readAll(socket);
  expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(count);
});

test("a client that has read a long response can send its next request at once", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const data = { filler: "x".repeat(150_000) };
  await server.json("POST", path, { metadata: { name: "long" }, data });
  for (let i = 0; i < 200; i++)
    await server.json("PUT", `${path}/long`, { metadata: { name: "long" }, data: { ...data, i: String(i) } });
});

test("slow and fast readers get the same list", async () => {
  const server = await startFilled();
  const slow = await Promise.all(Array.from({ length: 3 }, () => dialServer(server)));
  for (const socket of slow) {
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  }
  const { text } = await server.call("GET", path);
  for (const socket of slow) expect((await readAll(socket)).endsWith(`\r\n\r\n${text}`)).toBe(true);
});
