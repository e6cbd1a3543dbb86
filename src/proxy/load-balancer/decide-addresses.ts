import type { Service } from "../../api/meta/objects.ts";

/** Load balancer status that a service should have. */
export interface LoadBalancerStatus {
  readonly service: Service;
  readonly addresses: readonly string[];
  /** Port that another load balancer has, which leaves the service without addresses. */
  readonly conflict?: number;
}

/**
 * Decides the addresses of load balancers: all share the addresses of the node, so each port belongs to the oldest
 * service that uses it. Services with a class belong to another implementation.
 */
export function decideAddresses(
  services: Iterable<Service>,
  nodeAddresses: readonly string[],
): LoadBalancerStatus[] {
  const taken = new Set<string>();
  return [...services]
    .filter(({ spec, metadata }) => {
      const isOwn = spec?.type === "LoadBalancer" && spec.loadBalancerClass === undefined;
      return isOwn && metadata.deletionTimestamp === undefined;
    })
    .sort((a, b) => orderOf(a).localeCompare(orderOf(b)))
    .map((service) => {
      const families = new Set(service.spec?.ipFamilies ?? ["IPv4"]);
      const addresses = nodeAddresses.filter((address) =>
        families.has(address.includes(":") ? "IPv6" : "IPv4"),
      );
      const ports = (service.spec?.ports ?? []).map(({ protocol = "TCP", port }) => ({
        port,
        key: `${protocol} ${port}`,
      }));
      const conflict = ports.find(({ key }) => taken.has(key))?.port;
      if (conflict !== undefined) return { service, addresses: [], conflict };
      for (const { key } of ports) taken.add(key);
      return { service, addresses };
    });
}

function orderOf({ metadata }: Service): string {
  return `${metadata.creationTimestamp ?? ""} ${metadata.namespace}/${metadata.name}`;
}

/** Whether the status of the service has exactly these addresses. */
export function hasAddresses({ status }: Service, addresses: readonly string[]): boolean {
  const current = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname);
  return current.length === addresses.length && addresses.every((address, i) => current[i] === address);
}
