import { canonicalIPv6 } from "../../api/meta/validate-ip.ts";
import type { ProxyState } from "../model/backend.ts";
import type { ServicePort } from "../model/service-port.ts";
import { listenerKey, type RelayListener } from "./relay-message.ts";

/** What the machine needs for the services: addresses on an interface, and listeners of the relay. */
export interface UserspacePlan {
  readonly addresses: ReadonlySet<string>;
  /** By key. */
  readonly listeners: ReadonlyMap<string, RelayListener>;
}

/** Addresses of this node that serve node ports, and those that other machines reach. */
export interface Exposure {
  readonly nodePortAddresses: readonly string[];
  /** Addresses of this node at which other machines reach node ports and load balancers. */
  readonly exposedAddresses: readonly string[];
  /** Subnets of the pods. Undefined: not known, so that all clients are served. */
  readonly podSubnets: readonly string[] | undefined;
}

/**
 * Plans addresses and listeners. A port without endpoints has no listener, so that the kernel rejects its connections. SCTP
 * is not relayed. The first of two services with the same external address keeps it.
 */
export function planListeners(state: ProxyState, exposure: Exposure): UserspacePlan {
  const own = new Set(exposure.nodePortAddresses);
  const addresses = new Set<string>();
  const listeners = new Map<string, RelayListener>();
  for (const ports of state.values())
    for (const port of ports) {
      for (const { number, policy, clients, sourceRanges, ...frontend } of frontendsOf(port, exposure)) {
        // As `ip` prints it.
        const host = port.family === "IPv6" ? canonicalIPv6(frontend.host) : frontend.host;
        if (number !== port.nodePort && !own.has(host)) addresses.add(host);
        const endpoints = policy === "Local" ? port.endpoints.local : port.endpoints.cluster;
        if (port.protocol === "SCTP" || endpoints.length === 0) continue;
        const listener: RelayListener = {
          protocol: port.protocol,
          host,
          port: number,
          endpoints: endpoints.map(({ address, port: to }) => ({ address, port: to })),
          affinitySeconds: port.affinitySeconds,
          clients: exposure.podSubnets ? clients : "all",
          sourceRanges,
        };
        const key = listenerKey(listener);
        if (!listeners.has(key)) listeners.set(key, listener);
      }
    }
  return { addresses, listeners };
}

interface Frontend extends Pick<RelayListener, "host" | "clients" | "sourceRanges"> {
  readonly number: number;
  readonly policy: "Cluster" | "Local";
}

function frontendsOf(port: ServicePort, { nodePortAddresses, exposedAddresses }: Exposure): Frontend[] {
  const { clusterIP, externalIPs, loadBalancerIPs, nodePort } = port;
  const exposed = new Set([...externalIPs, ...exposedAddresses]);
  // With externalTrafficPolicy Local too, this node and its pods use all endpoints. Clients on other machines also get them.
  const external = (host: string, number: number, sourceRanges: readonly string[] = []): Frontend => ({
    host,
    number,
    policy: "Cluster",
    clients: exposed.has(host) ? "all" : "local",
    sourceRanges,
  });
  const ofFamily = (address: string) => address.includes(":") === (port.family === "IPv6");
  return [
    { host: clusterIP, number: port.port, policy: port.internalPolicy, clients: "local", sourceRanges: [] },
    // The ranges also apply to an external IP that is the address of the load balancer.
    ...loadBalancerIPs.map((host) => external(host, port.port, port.sourceRanges)),
    ...externalIPs.map((host) => external(host, port.port)),
    ...(nodePort === undefined
      ? []
      : nodePortAddresses.filter(ofFamily).map((host) => external(host, nodePort))),
  ];
}

/** Difference of two plans. */
export function diffPlans(before: UserspacePlan, after: UserspacePlan) {
  return {
    addAddresses: [...after.addresses].filter((address) => !before.addresses.has(address)),
    removeAddresses: [...before.addresses].filter((address) => !after.addresses.has(address)),
    set: [...after.listeners].flatMap(([key, listener]) => {
      const known = before.listeners.get(key);
      return known && JSON.stringify(known) === JSON.stringify(listener) ? [] : [listener];
    }),
    close: [...before.listeners.keys()].filter((key) => !after.listeners.has(key)),
  };
}
