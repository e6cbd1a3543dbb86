// Server of bench/dns.ts in a process: `echo` sends datagrams back, `kindling` serves DNS for synthetic services.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { Client } from "../../src/client/api/client.ts";
import { startDnsServer } from "../../src/dns/dns-server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics/metrics.ts";

const [kind, count] = process.argv.slice(2);

async function startEcho(): Promise<number> {
  const socket = createSocket("udp4");
  socket.on("message", (message, { port, address }) => socket.send(message, port, address));
  const bound = once(socket, "listening");
  socket.bind(0, "127.0.0.1");
  await bound;
  return socket.address().port;
}

async function startKindling(): Promise<number> {
  const services = Array.from({ length: Number(count) }, (_, i) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "bench", name: `service-${i}`, uid: `u${i}`, resourceVersion: "1" },
    spec: { clusterIPs: [`10.96.${i >> 8}.${i & 255}`], ports: [{ name: "http", port: 80 }] },
  }));
  const client: Partial<Client> = {
    list: async (resource: string) =>
      ({ items: resource === "services" ? services : [], resourceVersion: "1" }) as never,
    async *watch(_resource: string, { signal }: { readonly signal?: AbortSignal } = {}) {
      if (signal && !signal.aborted) await once(signal, "abort");
      yield* [];
    },
  };
  const server = await startDnsServer({
    client: client as Client,
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    clusterDomain: "cluster.local",
    listen: { host: "127.0.0.1", port: 0 },
    resolvers: { current: async () => [] },
  });
  await server.synced;
  return server.port;
}

console.log(await (kind === "echo" ? startEcho() : startKindling()));
