import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { encode, type RecordType } from "dns-packet";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { type DnsServer, startDnsServer } from "../../src/dns/dns-server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics/metrics.ts";
import { rounds, seed } from "../support/fuzz/rounds.ts";
import { askDns } from "../support/network/dns-client.ts";
import { type FakeUpstream, startFakeUpstream } from "../support/network/fake-dns-upstream.ts";

const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "default", name: "web", uid: "u", resourceVersion: "1" },
  spec: { clusterIP: "10.96.0.5", clusterIPs: ["10.96.0.5"], ports: [{ name: "http", port: 80 }] },
};
/** API with one service that does not change. */
const client: Partial<Client> = {
  list: async (resource: string) =>
    ({ items: resource === "services" ? [service] : [], resourceVersion: "1" }) as never,
  async *watch(_resource: string, { signal }: { readonly signal?: AbortSignal } = {}) {
    if (signal && !signal.aborted) await once(signal, "abort");
    yield* [];
  },
};

let server: DnsServer;
let upstream: FakeUpstream;
let hostile: Socket;
const errors: unknown[] = [];
beforeAll(async () => {
  // Responds with the query itself, marked as a response, and bytes that change with the name.
  hostile = createSocket("udp4");
  hostile.on("message", (message, { port, address }) => {
    const response = Buffer.concat([message, message.subarray(12)]);
    response[2] = 0x80 | (response.length & 1 ? 2 : 0);
    for (let i = 6; i < 12; i++) response[i] = (response[12 + i] ?? 0) & 3;
    hostile.send(response, port, address);
  });
  const bound = once(hostile, "listening");
  hostile.bind(0, "127.0.0.1");
  await bound;
  upstream = await startFakeUpstream(({ name }) => ({
    answers: [{ name, type: "A", ttl: 1, data: "192.0.2.1" }],
  }));
  server = await startDnsServer({
    client: client as Client,
    clock: systemClock,
    logger: { ...silentLogger, error: (message, fields) => void errors.push([message, fields]) },
    metrics: createMetrics(),
    clusterDomain: "cluster.local",
    listen: { host: "127.0.0.1", port: 0 },
    resolvers: {
      current: async () => [
        { host: "127.0.0.1", port: hostile.address().port },
        { host: "127.0.0.1", port: upstream.port },
      ],
    },
  });
  await server.synced;
});
afterAll(async () => {
  await server.close();
  await upstream.close();
  hostile.close();
});

const name = fc.constantFrom("web.default.svc.cluster.local", "example.com", "1.0.96.10.in-addr.arpa", ".");
const type = fc.constantFrom<RecordType>("A", "AAAA", "SRV", "PTR", "TXT", "OPT", "AXFR", "SOA");

/** Valid queries with some bytes replaced, inserted or cut, and random bytes. */
const message = fc.oneof(
  fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
  fc
    .record({
      name,
      type,
      flags: fc.constantFrom(0, 0x100, 0x110),
      changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
      cut: fc.nat(80),
      tail: fc.uint8Array({ maxLength: 40 }),
    })
    .map(({ name, type, flags, changes, cut, tail }) => {
      const valid = encode({ type: "query", id: 1, flags, questions: [{ name, type }] });
      const bytes = Buffer.concat([valid.subarray(0, valid.length - (cut > 40 ? 0 : cut)), tail]);
      for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
      return bytes;
    }),
);

/** Longest response to a malformed message over UDP: its own length, or what a valid query may get. */
const maxResponse = 1_232;

test("malformed datagrams neither stop the server nor get long responses", async () => {
  const socket = createSocket("udp4");
  const lengths: number[] = [];
  socket.on("message", (response) => lengths.push(response.length));
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 20, maxLength: 20 }), async (messages) => {
        for (const each of messages) socket.send(each, server.port, "127.0.0.1");
        const { lines } = await askDns("web.default.svc.cluster.local A", { port: server.port });
        expect(lines).toEqual(["web.default.svc.cluster.local 5 A 10.96.0.5"]);
      }),
      { numRuns: rounds(100), seed },
    );
  } finally {
    socket.close();
  }
  expect(Math.max(...lengths)).toBeLessThanOrEqual(maxResponse);
  expect(errors).toEqual([]);
});

test("a datagram that is not a query gets no more bytes than it has", async () => {
  const socket = createSocket("udp4");
  const sent = new Map<number, number>();
  const longer: string[] = [];
  socket.on("message", (response) => {
    const bytes = sent.get(response.readUInt16BE(0)) ?? 0;
    if (response.length > bytes) longer.push(`${bytes} bytes got ${response.length}`);
  });
  try {
    let id = 0;
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 2, maxLength: 100 }), (bytes) => {
        const datagram = Buffer.from(bytes);
        // Anything but one question, which a valid query has.
        if (datagram.length >= 6) datagram.writeUInt16BE(2 + (id % 60_000), 4);
        datagram.writeUInt16BE(id, 0);
        sent.set(id++, datagram.length);
        socket.send(datagram, server.port, "127.0.0.1");
      }),
      { numRuns: rounds(500), seed },
    );
    await askDns("web.default.svc.cluster.local A", { port: server.port });
  } finally {
    socket.close();
  }
  expect(longer).toEqual([]);
});

test("malformed connections neither stop the server nor stay open", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 3, maxLength: 3_000 }), async (bytes) => {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.resume();
      socket.end(Buffer.from(bytes));
      await once(socket, "close");
      const { rcode } = await askDns("web.default.svc.cluster.local A", { port: server.port, tcp: true });
      expect(rcode).toBe("NOERROR");
    }),
    { numRuns: rounds(30), seed },
  );
  expect(errors).toEqual([]);
});
