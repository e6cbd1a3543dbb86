import { createSocket } from "node:dgram";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { type DnsServer, type DnsServerOptions, startDnsServer } from "../../src/dns/dns-server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics/metrics.ts";
import { askDns } from "../support/network/dns-client.ts";
import { startFakeUpstream } from "../support/network/fake-dns-upstream.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

let api: TestServer;
let client: Client;
beforeAll(async () => {
  api = await startTestServer();
  client = await connectCluster({ kubeconfig: api.kubeconfig, userAgent: "test" });
});
afterAll(async () => {
  client.close();
  await api.close();
});

async function startServer(options: Partial<DnsServerOptions> = {}): Promise<DnsServer & { text(): string }> {
  const metrics = createMetrics();
  const server = await startDnsServer({
    client,
    clock: systemClock,
    logger: silentLogger,
    metrics,
    clusterDomain: "cluster.local",
    listen: { host: "127.0.0.1", port: 0 },
    resolvers: { current: async () => [] },
    ...options,
  });
  onTestFinished(server.close);
  await server.synced;
  return { ...server, text: metrics.text };
}

const path = "/api/v1/namespaces/default/services";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

async function createHeadless(name: string, addresses: readonly string[]): Promise<void> {
  const spec = { clusterIP: "None", ports: [{ name: "http", port: 80 }] };
  await api.json("POST", path, { apiVersion: "v1", kind: "Service", metadata: { name }, spec });
  await api.json("POST", slices, makeSlice(name, addresses));
}

function makeSlice(service: string, addresses: readonly string[]) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: service, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  };
}

describe("names of the cluster", () => {
  test("resolve over UDP and TCP, and follow changes of endpoints", async () => {
    const { port } = await startServer();
    const name = "kubernetes.default.svc.cluster.local";
    for (const tcp of [false, true]) {
      const response = await askDns(`${name} A`, { port, tcp });
      expect(response).toMatchObject({ rcode: "NOERROR", flag_aa: true, flag_ra: true });
      expect(response.lines).toEqual([`${name} 5 A 10.96.0.1`]);
    }
    await createHeadless("db", ["10.0.0.1"]);
    const addresses = async () =>
      (await askDns("db.default.svc.cluster.local A", { port })).lines.map((line) => line.split(" ").at(-1));
    await expect.poll(addresses).toEqual(["10.0.0.1"]);
    await api.json("PUT", `${slices}/db`, makeSlice("db", ["10.0.0.2"]));
    await expect.poll(addresses).toEqual(["10.0.0.2"]);
    await api.json("DELETE", `${path}/db`);
    await expect
      .poll(async () => (await askDns("db.default.svc.cluster.local A", { port })).rcode)
      .toBe("NXDOMAIN");
  });

  test("negative responses have the SOA record of the zone", async () => {
    const { port } = await startServer();
    const missing = await askDns("nothing.default.svc.cluster.local A", { port });
    const soa = [{ type: "SOA", name: "cluster.local", ttl: 5, data: { minimum: 5 } }];
    expect(missing).toMatchObject({ rcode: "NXDOMAIN", answers: [], authorities: soa });
    const other = await askDns("kubernetes.default.svc.cluster.local AAAA", { port });
    expect(other).toMatchObject({ rcode: "NOERROR", answers: [], authorities: soa });
  });

  test("many endpoints are truncated over UDP, complete over TCP, and in another order each time", async () => {
    const all = Array.from({ length: 100 }, (_, i) => `10.1.0.${i}`);
    await createHeadless("many", all);
    const { port } = await startServer();
    const name = "many.default.svc.cluster.local A";
    await expect.poll(async () => (await askDns(name, { port, tcp: true })).lines).toHaveLength(100);
    const small = await askDns(name, { port });
    expect(small.flag_tc).toBe(true);
    expect(small.bytes).toBeLessThanOrEqual(512);
    const large = await askDns(name, { port, udpSize: 4_096 });
    expect(large.bytes).toBeLessThanOrEqual(1_232);
    expect(large.lines.length).toBeGreaterThan(small.lines.length);
    const first = async () => (await askDns(name, { port })).lines[0];
    expect(new Set([await first(), await first(), await first()]).size).toBe(3);
  });

  test("queries that transfer zones, of other classes or of type ANY get little", async () => {
    const { port } = await startServer();
    expect((await askDns("cluster.local AXFR", { port, tcp: true })).rcode).toBe("REFUSED");
    const any = await askDns("kubernetes.default.svc.cluster.local ANY", { port });
    expect(any.answers).toMatchObject([{ type: "HINFO" }]);
  });

  test("queries of addresses that are not allowed are dropped", async () => {
    const { port, text } = await startServer({ isAllowed: (address) => address !== "127.0.0.1" });
    const socket = createSocket("udp4");
    onTestFinished(() => void socket.close());
    let responses = 0;
    socket.on("message", () => responses++);
    socket.send(Buffer.alloc(12), port, "127.0.0.1");
    await expect.poll(text).toContain('zone="dropped"');
    await expect(askDns("cluster.local SOA", { port, tcp: true })).rejects.toThrow();
    expect(responses).toBe(0);
  });

  test("responses are counted under the names of CoreDNS", async () => {
    const { port, text } = await startServer();
    // Over TCP, because the client repeats datagrams.
    for (let i = 0; i < 3; i++) await askDns("kubernetes.default.svc.cluster.local A", { port, tcp: true });
    const common = 'server="dns://127.0.0.1:0",zone="cluster.local.",view=""';
    expect(text()).toContain(`coredns_dns_requests_total{${common},proto="tcp",family="1",type="A"} 3`);
    expect(text()).toContain(`coredns_dns_responses_total{${common},rcode="NOERROR",plugin="kubernetes"} 3`);
    expect(text()).toContain(`coredns_dns_request_duration_seconds_count{${common}} 3`);
  });
});

const address = (name: string, data: string, ttl = 60) => ({ name, type: "A" as const, ttl, data });

describe("other names", () => {
  const start = async (...upstreams: readonly { readonly port: number }[]) => {
    const current = async () => upstreams.map(({ port }) => ({ host: "127.0.0.1", port }));
    return startServer({ resolvers: { current } });
  };

  test("are forwarded once and then served from the cache", async () => {
    const upstream = await startFakeUpstream(({ name }) => ({ answers: [address(name, "192.0.2.1")] }));
    onTestFinished(upstream.close);
    const { port, text } = await start(upstream);
    const asked = () => upstream.questions.filter((question) => question === "example.com A").length;
    for (let i = 0; i < 3; i++) {
      // Over TCP, because the client repeats datagrams.
      const { rcode, answers } = await askDns("example.com A", { port, tcp: true });
      expect(rcode).toBe("NOERROR");
      expect(answers).toMatchObject([{ name: "example.com", data: "192.0.2.1" }]);
    }
    expect(asked()).toBe(1);
    expect(text()).toMatch(/coredns_cache_hits_total\{[^}]*type="success"\} 2/);
    // The letters of the question are repeated as sent, also from the cache.
    expect((await askDns("eXAMple.com A", { port })).questions).toMatchObject([{ name: "eXAMple.com" }]);
    expect(asked()).toBe(1);
  });

  test("that do not exist are cached for the time that the SOA record allows", async () => {
    const soa = { mname: "ns", rname: "x", serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 20 };
    const upstream = await startFakeUpstream(({ name }) => ({
      rcode: 3,
      ...(name.endsWith("org") && { authorities: [{ name: "org", type: "SOA", ttl: 60, data: soa }] }),
    }));
    onTestFinished(upstream.close);
    const { port } = await start(upstream);
    for (const name of ["a.org", "a.org", "a.net", "a.net"])
      expect((await askDns(`${name} A`, { port })).rcode).toBe("NXDOMAIN");
    expect(upstream.questions.filter((question) => question.startsWith("a."))).toEqual([
      "a.org A",
      "a.net A",
      "a.net A",
    ]);
  });

  test("are asked of the next server if one fails or does not respond", async () => {
    const failing = await startFakeUpstream(() => ({ rcode: 2 }));
    const silent = await startFakeUpstream(() => undefined);
    const working = await startFakeUpstream(({ name }) => ({ answers: [address(name, "192.0.2.7")] }));
    for (const { close } of [failing, silent, working]) onTestFinished(close);
    const { port } = await start(failing, silent, working);
    expect((await askDns("example.com A", { port })).answers).toMatchObject([{ data: "192.0.2.7" }]);
  });

  test("without a server that responds fail with SERVFAIL", async () => {
    const { port } = await start();
    expect((await askDns("example.com A", { port })).rcode).toBe("SERVFAIL");
  });

  test("without a route to the server fail with SERVFAIL", async () => {
    // Connecting to the broadcast address is rejected by the kernel.
    const current = async () => [{ host: "255.255.255.255", port: 53 }];
    const { port } = await startServer({ resolvers: { current } });
    expect((await askDns("example.com A", { port })).rcode).toBe("SERVFAIL");
  });

  test("with long responses are asked over TCP", async () => {
    const answers = Array.from({ length: 60 }, (_, i) => address("big.org", `192.0.2.${i}`));
    const upstream = await startFakeUpstream(() => ({ answers, truncated: true }));
    onTestFinished(upstream.close);
    const { port } = await start(upstream);
    expect(await askDns("big.org A", { port })).toMatchObject({ flag_tc: true, answers: [] });
    expect((await askDns("big.org A", { port, tcp: true })).answers).toHaveLength(60);
  });

  test("forged responses are ignored", async () => {
    const upstream = await startFakeUpstream(({ name }, { message, client, socket }) => {
      const forged = Buffer.from(message);
      forged.writeUInt16BE(0x80_00, 2);
      forged.writeUInt16BE((forged.readUInt16BE(0) + 1) & 0xffff, 0);
      socket.send(forged, client.port, client.address);
      socket.send(Buffer.from("nonsense"), client.port, client.address);
      return { answers: [address(name, "192.0.2.9")] };
    });
    onTestFinished(upstream.close);
    const { port } = await start(upstream);
    expect((await askDns("example.com A", { port })).answers).toMatchObject([{ data: "192.0.2.9" }]);
  });

  test("the target of an ExternalName service is part of the response", async () => {
    const upstream = await startFakeUpstream(({ name }) =>
      name === "www.example.com" ? { answers: [address(name, "192.0.2.53")] } : { rcode: 3 },
    );
    onTestFinished(upstream.close);
    for (const [name, externalName] of [
      ["foo", "www.example.com"],
      ["gone", "gone.example.com"],
    ]) {
      const spec = { type: "ExternalName", externalName };
      await api.json("POST", path, { apiVersion: "v1", kind: "Service", metadata: { name }, spec });
    }
    const { port } = await start(upstream);
    const alias = "foo.default.svc.cluster.local";
    await expect
      .poll(async () => (await askDns(`${alias} A`, { port })).lines)
      .toEqual([`${alias} 5 CNAME www.example.com`, "www.example.com 60 A 192.0.2.53"]);
    expect((await askDns("gone.default.svc.cluster.local A", { port })).rcode).toBe("NXDOMAIN");
  });

  test("a server that forwards to this one is detected and not used", async () => {
    const loop: { port: number; relayed: number } = { port: 0, relayed: 0 };
    const relay = createSocket("udp4");
    onTestFinished(() => void relay.close());
    const clients = new Map<number, number>();
    relay.on("message", (message, { port }) => {
      const id = message.readUInt16BE(0);
      if (port === loop.port) return relay.send(message, clients.get(id) ?? 0, "127.0.0.1");
      clients.set(id, port);
      loop.relayed++;
      return relay.send(message, loop.port, "127.0.0.1");
    });
    await new Promise<void>((resolve) => relay.bind(0, "127.0.0.1", resolve));
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
    let list = () => {};
    const listed = new Promise<void>((resolve) => {
      list = resolve;
    });
    const server = await startServer({
      logger,
      resolvers: {
        async current() {
          await listed;
          return [{ host: "127.0.0.1", port: relay.address().port }];
        },
      },
    });
    loop.port = server.port;
    list();
    await expect.poll(() => errors.join()).toContain("forwards queries back to this one");
    const before = loop.relayed;
    expect((await askDns("example.com A", { port: server.port })).rcode).toBe("SERVFAIL");
    expect(loop.relayed).toBe(before);
  });
});
