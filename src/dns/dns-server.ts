import { isIPv6 } from "node:net";
import type { EndpointSlice, Pod, Service } from "../api/meta/objects.ts";
import type { Client } from "../client/api/client.ts";
import { type Change, createInformer } from "../client/informers/informer.ts";
import type { Clock } from "../lib/clock.ts";
import { joinHostPort } from "../lib/join-host-port.ts";
import type { Logger } from "../lib/logger.ts";
import type { Metrics } from "../lib/metrics/metrics.ts";
import { createForwardMetrics } from "./forward/forward-metrics.ts";
import { createForwarder } from "./forward/forwarder.ts";
import type { Resolvers } from "./forward/node-resolvers.ts";
import {
  createRecordView,
  podAddresses,
  podIndexes,
  serviceIndexes,
  serviceNameLabel,
  sliceIndexes,
} from "./records/record-view.ts";
import { createAnswerer } from "./server/answerer.ts";
import { createListenerMetrics } from "./server/dns-metrics.ts";
import { serveTcp } from "./server/tcp-server.ts";
import { type ListenAddress, type Listener, serveUdp } from "./server/udp-server.ts";

export interface DnsServerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Domain of the cluster. */
  readonly clusterDomain: string;
  readonly listen: ListenAddress;
  /** Servers for names outside of the cluster. */
  readonly resolvers: Resolvers;
  /** Whether queries from an address are answered, in addition to those of the cluster's pods. Default: all are. */
  readonly isAllowed?: (address: string) => boolean;
}

export interface DnsServer {
  /** Port of both UDP and TCP. */
  readonly port: number;
  /** Resolves when the records of the cluster are complete. Until then its names fail with SERVFAIL. */
  readonly synced: Promise<void>;
  isSynced(): boolean;
  /** Stops the server. */
  close(): Promise<void>;
}

/** TTL of the cluster's records, as in CoreDNS. Short, because clients must notice changes of endpoints. */
const ttlSeconds = 5;
/** How often another port is chosen if the one that UDP got is taken for TCP. */
const portAttempts = 10;

/** Starts a DNS server for the services and pods of a cluster. Resolves when it listens. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const { client, clock, logger, metrics, listen } = options;
  const shared = { client, clock, logger };
  const services = createInformer({
    ...shared,
    resource: "services",
    indexes: serviceIndexes,
    trim: trimService,
  });
  const slices = createInformer({
    ...shared,
    resource: "endpointslices",
    indexes: sliceIndexes,
    trim: trimSlice,
  });
  const pods = createInformer({
    ...shared,
    resource: "pods",
    indexes: { ...podIndexes, anyNamespace: podAddresses },
    trim: trimPod,
  });
  let generation = 0;
  const onChange = () => void generation++;
  services.onChange(onChange);
  slices.onChange(onChange);
  pods.onChange((change) => changesAddresses(change) && onChange());

  let synced = false;
  const forwarder = createForwarder({
    resolvers: options.resolvers,
    clock,
    logger,
    metrics: createForwardMetrics(metrics),
  });
  const answerer = createAnswerer({
    view: createRecordView({ services, slices, pods }),
    zone: { domain: options.clusterDomain.toLowerCase(), ttlSeconds },
    isSynced: () => synced,
    forwarder,
    logger,
  });
  const { isAllowed } = options;
  const isClient = (address: string) =>
    isAllowed === undefined || isAllowed(address) || pods.byIndex("anyNamespace", address).length > 0;
  const listeners = await listenOnBoth(listen, {
    udp: (address) => serveUdp(address, listenerDeps("udp")),
    tcp: (address) => serveTcp(address, listenerDeps("tcp")),
  });

  function listenerDeps(proto: "udp" | "tcp") {
    const server = `dns://${joinHostPort(listen.host, listen.port)}`;
    return {
      answerer,
      generation: () => generation,
      isAllowed: (address: string) => isClient(address.startsWith("::ffff:") ? address.slice(7) : address),
      metrics: createListenerMetrics(metrics, { server, proto, family: isIPv6(listen.host) ? "2" : "1" }),
      logger,
    };
  }

  const stopping = new AbortController();
  const informers = [services, slices, pods];
  const running = Promise.all(informers.map((informer) => informer.run(stopping.signal)));
  running.catch((error) => stopping.signal.aborted || logger.error("the DNS records are stale", { error }));
  const allSynced = Promise.all(informers.map((informer) => informer.synced)).then(() => {
    synced = true;
    // SERVFAIL responses are not kept, but records may have changed in the same turn.
    generation++;
  });
  allSynced.catch(() => {});
  const checking = forwarder.detectLoops(stopping.signal);
  return {
    port: listeners.port,
    synced: allSynced,
    isSynced: () => synced,
    async close() {
      stopping.abort(new Error("the DNS server stops"));
      await listeners.close();
      await Promise.allSettled([running, checking]);
    },
  };
}

/** Listens over UDP and TCP on the same port, which resolvers expect. */
async function listenOnBoth(
  { host, port }: ListenAddress,
  serve: Readonly<Record<"udp" | "tcp", (address: ListenAddress) => Promise<Listener>>>,
): Promise<Listener> {
  for (let attempt = 1; ; attempt++) {
    const udp = await serve.udp({ host, port });
    try {
      const tcp = await serve.tcp({ host, port: udp.port });
      return {
        port: udp.port,
        close: async () => void (await Promise.all([udp.close(), tcp.close()])),
      };
    } catch (error) {
      await udp.close();
      const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
      if (!isTaken || port !== 0 || attempt === portAttempts) throw error;
    }
  }
}

function changesAddresses(change: Change<Pod>): boolean {
  if (change.kind !== "changed") return podAddresses(change.object).length > 0;
  return podAddresses(change.object).join() !== podAddresses(change.previous).join();
}

/** Fields of the objects that records are derived from; the others are not kept in memory. */
function trimService({ apiVersion, kind, metadata, spec }: Service): Service {
  const { type, clusterIP, clusterIPs, ports, externalName, publishNotReadyAddresses } = spec ?? {};
  return {
    apiVersion,
    kind,
    metadata: identityOf(metadata),
    spec: { type, clusterIP, clusterIPs, ports, externalName, publishNotReadyAddresses },
  };
}

function trimSlice({
  apiVersion,
  kind,
  metadata,
  addressType,
  endpoints,
  ports,
}: EndpointSlice): EndpointSlice {
  const service = metadata.labels?.[serviceNameLabel];
  return {
    apiVersion,
    kind,
    metadata: { ...identityOf(metadata), ...(service && { labels: { [serviceNameLabel]: service } }) },
    addressType,
    endpoints: (endpoints ?? []).map(({ addresses, hostname, conditions }) => ({
      addresses,
      ...(hostname && { hostname }),
      ...(conditions?.ready === false && { conditions: { ready: false } }),
    })),
    ports,
  };
}

function trimPod({ apiVersion, kind, metadata, status }: Pod): Pod {
  const { phase, podIP, podIPs } = status ?? {};
  return { apiVersion, kind, metadata: identityOf(metadata), status: { phase, podIP, podIPs } };
}

function identityOf({ namespace, name, uid, resourceVersion }: Pod["metadata"]): Pod["metadata"] {
  return { namespace, name, uid, resourceVersion };
}
