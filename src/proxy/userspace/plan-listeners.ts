import type { ProxyState } from "../model/backend.ts";
import type { ServicePort } from "../model/service-port.ts";
import { listenerKey, type RelayListener } from "./relay-message.ts";

/** What the machine needs for the services: addresses on an interface, and listeners of the relay. */
export interface UserspacePlan {
  readonly addresses: ReadonlySet<string>;
  /** By key. */
  readonly listeners: ReadonlyMap<string, RelayListener>;
}

/**
 * Plans addresses and listeners. A port without endpoints has no listener, so that the kernel rejects its connections. SCTP
 * is not relayed. The first of two services with the same external address keeps it.
 */
export function planListeners(state: ProxyState, nodePortAddresses: readonly string[]): UserspacePlan {
  const own = new Set(nodePortAddresses);
  const addresses = new Set<string>();
  const listeners = new Map<string, RelayListener>();
  for (const ports of state.values())
    for (const port of ports) {
      for (const { host, number, policy } of frontendsOf(port, nodePortAddresses)) {
        if (number !== port.nodePort && !own.has(host)) addresses.add(host);
        const endpoints = policy === "Local" ? port.endpoints.local : port.endpoints.cluster;
        if (port.protocol === "SCTP" || endpoints.length === 0) continue;
        const listener: RelayListener = {
          protocol: port.protocol,
          host,
          port: number,
          endpoints: endpoints.map(({ address, port: to }) => ({ address, port: to })),
          affinitySeconds: port.affinitySeconds,
        };
        const key = listenerKey(listener);
        if (!listeners.has(key)) listeners.set(key, listener);
      }
    }
  return { addresses, listeners };
}

function frontendsOf(port: ServicePort, nodePortAddresses: readonly string[]) {
  const ofFamily = (address: string) => address.includes(":") === (port.family === "IPv6");
  // External addresses are reached from this node and its pods, which use all endpoints whatever the external policy is.
  const external = [...port.externalIPs, ...port.loadBalancerIPs].map((host) => ({
    host,
    number: port.port,
    policy: "Cluster" as const,
  }));
  const { nodePort } = port;
  const node =
    nodePort === undefined
      ? []
      : nodePortAddresses
          .filter(ofFamily)
          .map((host) => ({ host, number: nodePort, policy: "Cluster" as const }));
  return [{ host: port.clusterIP, number: port.port, policy: port.internalPolicy }, ...external, ...node];
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
