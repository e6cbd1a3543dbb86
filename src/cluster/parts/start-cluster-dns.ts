import type { EndpointSlice, Service } from "../../api/meta/objects.ts";
import { dnsUser } from "../../apiserver/request/user-info.ts";
import type { Client } from "../../client/api/client.ts";
import { createClient } from "../../client/api/create-client.ts";
import { isAlreadyExists, isNotFound } from "../../client/transport/status-errors.ts";
import { startDnsServer } from "../../dns/dns-server.ts";
import { createNodeResolvers } from "../../dns/forward/node-resolvers.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { createLocalClientCheck } from "../../lib/local-clients.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import { type ClusterDns, clusterDnsAddress } from "./cluster-dns.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { RunningNode } from "./node.ts";

const key = { namespace: "kube-system", name: "kube-dns" };

/**
 * Starts the DNS server of a cluster and publishes it as the service `kube-system/kube-dns`. It listens on the address of
 * this machine that pods reach; the service proxy forwards the service's address to it. A service `kube-dns` that selects
 * pods is another DNS server, which then is used instead.
 */
export async function startClusterDns(options: {
  readonly controlPlane: ControlPlane;
  readonly node: RunningNode;
  readonly clusterDomain: string;
  /** Path of the node's resolv.conf. */
  readonly resolvConf: string;
  readonly metrics: Metrics;
  readonly clock?: Clock;
  readonly logger: Logger;
}): Promise<ClusterDns | undefined> {
  const { controlPlane, node, clusterDomain, resolvConf, metrics, clock = systemClock } = options;
  const logger = options.logger.component("dns");
  const link = await node.preparePodNetwork();
  if (!link) {
    logger.warn(
      "the cluster has no DNS server: it runs on the built-in bridge of Kindling's runtime only; pods use the servers of the node",
    );
    return undefined;
  }
  const client = createClient({
    transport: controlPlane.connect({ commonName: dnsUser }),
    userAgent: "kindling-dns",
  });
  try {
    const service = await ensureService(client);
    const addresses = service.spec?.clusterIPs ?? [];
    if (service.spec?.selector) {
      logger.info("the service kube-system/kube-dns selects pods, which are used as DNS servers", {
        addresses,
      });
      client.close();
      return { addresses, close: async () => {} };
    }
    const server = await startDnsServer({
      client,
      clock,
      logger,
      metrics,
      clusterDomain,
      listen: { host: link.gateway, port: 0 },
      resolvers: createNodeResolvers({
        file: resolvConf,
        exclude: [...addresses, link.gateway],
        clock,
        logger,
      }),
      // The service proxy may connect from any address of this machine.
      isAllowed: createLocalClientCheck({ podSubnets: [link.subnet], clock }),
    });
    const close = async () => {
      await server.close();
      client.close();
    };
    try {
      await publish(client, { address: link.gateway, port: server.port });
    } catch (error) {
      await close();
      throw error;
    }
    logger.info("serving DNS", { address: `${link.gateway}:${server.port}`, service: addresses.join() });
    return { addresses, close };
  } catch (error) {
    client.close();
    throw error;
  }
}

async function ensureService(client: Client): Promise<Service> {
  const service: Service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      ...key,
      labels: {
        "k8s-app": "kube-dns",
        "kubernetes.io/cluster-service": "true",
        "kubernetes.io/name": "CoreDNS",
      },
    },
    spec: {
      clusterIP: clusterDnsAddress,
      ports: [
        { name: "dns", port: 53, protocol: "UDP" },
        { name: "dns-tcp", port: 53, protocol: "TCP" },
      ],
    },
  };
  try {
    return await client.create("services", service);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get("services", key);
  }
}

/** Writes the EndpointSlice of the service. The port changes with every start. */
async function publish(
  client: Client,
  { address, port }: { readonly address: string; readonly port: number },
): Promise<void> {
  const labels = {
    "kubernetes.io/service-name": key.name,
    "endpointslice.kubernetes.io/managed-by": "kindling-dns",
  };
  const slice: EndpointSlice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...key, labels },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true, serving: true, terminating: false } }],
    ports: [
      { name: "dns", port, protocol: "UDP" },
      { name: "dns-tcp", port, protocol: "TCP" },
    ],
  };
  const current = await client.get("endpointslices", key).catch((error) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (!current) await client.create("endpointslices", slice);
  else {
    const { resourceVersion } = current.metadata;
    await client.update("endpointslices", { ...slice, metadata: { ...slice.metadata, resourceVersion } });
  }
}
