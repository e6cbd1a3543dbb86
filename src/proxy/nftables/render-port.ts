import { createHash } from "node:crypto";
import type { TableContent } from "../../lib/nftables/table-content.ts";
import type { ServiceEndpoint } from "../model/choose-endpoints.ts";
import type { Protocol, ServicePort } from "../model/service-port.ts";

export interface RenderOptions {
  readonly family: "ip" | "ip6";
  /** Interface of the pods. Undefined: pods are recognized by `podSubnet`, or not at all. */
  readonly podInterface?: string;
  readonly podSubnet?: string;
  readonly masqueradeAll: boolean;
}

/** Maps in which several services can have the same key: by the same external address, or by the same pod. */
export const contestedMaps: ReadonlySet<string> = new Set([
  "hairpin",
  "external-addresses",
  "firewall",
  "external-frontends",
  "external-endpoints",
  "external-local-endpoints",
  "external-without-endpoints",
]);

/**
 * Renders service ports. Most services are elements of maps only: the verdict map of their address leads to a chain that
 * all services with the same number of endpoints share, and that chain looks the endpoint up by address, port and a
 * random number. A changed endpoint therefore changes one element, and the cost of a packet does not depend on the number
 * of services. Services with session affinity have their own chains.
 */
export function renderPorts(ports: readonly ServicePort[], options: RenderOptions): TableContent {
  const out = createCollector();
  for (const port of ports) renderPort(port, options, out);
  return out;
}

type Collector = ReturnType<typeof createCollector>;

function createCollector() {
  const elements = new Map<string, Map<string, string>>();
  const chains = new Map<string, readonly string[]>();
  const shared = new Map<string, readonly string[]>();
  const sets = new Map<string, string>();
  const declare =
    (known: Map<string, readonly string[]>) => (name: string, rules: () => readonly string[]) => {
      if (!known.has(name)) known.set(name, rules());
      return name;
    };
  return {
    elements,
    chains,
    shared,
    sets,
    add(map: string, key: string, value: string) {
      const known = elements.get(map);
      if (!known) elements.set(map, new Map([[key, value]]));
      else if (!known.has(key)) known.set(key, value);
    },
    chain: declare(chains),
    sharedChain: declare(shared),
  };
}

/** Where clients reach a port. `node` is a port of the node's addresses. */
type Frontend = "cluster" | "external" | "node";

/** Expression for the key of a frontend's maps. */
export const frontendKeys = (family: "ip" | "ip6"): Record<Frontend, string> => ({
  cluster: `${family} daddr . meta l4proto . th dport`,
  external: `${family} daddr . meta l4proto . th dport`,
  node: "meta l4proto . th dport",
});

function renderPort(port: ServicePort, options: RenderOptions, out: Collector): void {
  const protocol = port.protocol.toLowerCase();
  const { cluster, local } = port.endpoints;
  renderFrontend("cluster", `${port.clusterIP} . ${protocol} . ${port.port}`, port, options, out);
  for (const address of port.externalIPs) out.add("external-addresses", address, "");
  for (const address of [...port.externalIPs, ...port.loadBalancerIPs])
    renderFrontend("external", `${address} . ${protocol} . ${port.port}`, port, options, out);
  if (port.nodePort !== undefined)
    renderFrontend("node", `${protocol} . ${port.nodePort}`, port, options, out);
  if (port.sourceRanges.length > 0) {
    const { family } = options;
    const name = out.chain(`firewall-${idOf(port)}`, () => [
      ...port.sourceRanges.map((range) => `${family} saddr ${range} return`),
      "drop",
    ]);
    for (const address of port.loadBalancerIPs)
      out.add("firewall", `${address} . ${protocol} . ${port.port}`, `goto ${name}`);
  }
  // A pod that reaches itself through a service has to see another source address.
  for (const { address, isLocal } of [...cluster, ...local])
    if (isLocal) out.add("hairpin", `${address} . ${address}`, "");
}

function renderFrontend(
  frontend: Frontend,
  key: string,
  port: ServicePort,
  options: RenderOptions,
  out: Collector,
): void {
  const { endpoints, internalPolicy, externalPolicy } = port;
  const policy = frontend === "cluster" ? internalPolicy : externalPolicy;
  const without = `${frontend}-without-endpoints`;
  const isWithoutLocal = policy === "Local" && endpoints.local.length === 0;
  if (!endpoints.hasAny) out.add(without, key, "goto reject-connection");
  else if (isWithoutLocal) out.add(without, key, frontend === "cluster" ? "drop" : "goto drop-external");
  // Without local endpoints, pods and the node itself still reach external addresses through endpoints of other nodes.
  if (!endpoints.hasAny || (isWithoutLocal && frontend === "cluster")) return;
  const verdict = port.affinitySeconds
    ? renderAffinity(frontend, policy, port, options, out)
    : renderShared(frontend, policy, key, port, options, out);
  out.add(`${frontend}-frontends`, key, `goto ${verdict}`);
}

/** Renders elements for the shared chains. Returns the name of the chain. */
function renderShared(
  frontend: Frontend,
  policy: "Cluster" | "Local",
  key: string,
  port: ServicePort,
  options: RenderOptions,
  out: Collector,
): string {
  const { cluster, local } = port.endpoints;
  /** Adds endpoints to a map. Returns the chain that picks one of them. */
  const addAll = (map: EndpointMap, endpoints: readonly ServiceEndpoint[]) => {
    for (const [i, { address, port: number }] of endpoints.entries())
      out.add(map, `${key} . ${i}`, `${address} . ${number}`);
    return pickChain(map, endpoints.length);
  };
  if (frontend === "cluster") {
    const used = policy === "Local" ? local : cluster;
    const pick = addAll("cluster-endpoints", used);
    const masquerade = clusterMasquerade(options);
    if (masquerade.length === 0) return pick;
    return out.sharedChain(`cluster-${used.length}`, () => [...masquerade, `goto ${pick}`]);
  }
  const pick = addAll(`${frontend}-endpoints`, cluster);
  if (policy === "Cluster")
    return out.sharedChain(`${frontend}-${cluster.length}`, () => [
      "jump mark-for-masquerade",
      `goto ${pick}`,
    ]);
  const pickLocal = addAll(`${frontend}-local-endpoints`, local);
  return out.sharedChain(`${frontend}-local-${cluster.length}-${local.length}`, () => [
    ...shortCircuit(pick, options),
    ...(local.length > 0 ? [`goto ${pickLocal}`] : []),
  ]);
}

/** Maps from a frontend and a number to an endpoint, with the frontend that is part of their key. */
export const endpointMaps = {
  "cluster-endpoints": "cluster",
  "external-endpoints": "external",
  "external-local-endpoints": "external",
  "node-endpoints": "node",
  "node-local-endpoints": "node",
} as const satisfies Record<string, Frontend>;

type EndpointMap = keyof typeof endpointMaps;

function pickChain(map: EndpointMap, count: number): string {
  return `pick-${map}-${count}`;
}

/**
 * Renders the chains that pick one of up to `maxCount` endpoints. They are created with the table, because nft 1.0 rejects
 * new rules that use an existing map of this kind.
 */
export function renderPickChains(family: "ip" | "ip6", maxCount: number): ReadonlyMap<string, string> {
  const chains = new Map<string, string>();
  const keys = frontendKeys(family);
  for (const [map, frontend] of Object.entries(endpointMaps))
    for (let count = 1; count <= maxCount; count++)
      chains.set(
        pickChain(map as EndpointMap, count),
        `meta l4proto { tcp, udp, sctp } dnat ${family} to ${keys[frontend]} . numgen random mod ${count} map @${map}`,
      );
  return chains;
}

/** Largest number of endpoints that a service port has. */
export function maxEndpoints(ports: readonly ServicePort[]): number {
  return Math.max(
    0,
    ...ports.map(({ endpoints: { cluster, local } }) => Math.max(cluster.length, local.length)),
  );
}

/** Renders chains of a port with session affinity. Returns the name of the chain for the frontend. */
function renderAffinity(
  frontend: Frontend,
  policy: "Cluster" | "Local",
  port: ServicePort,
  options: RenderOptions,
  out: Collector,
): string {
  const { family } = options;
  const id = idOf(port);
  const { cluster, local } = port.endpoints;
  const endpointChain = ({ address, port: number }: ServiceEndpoint) => {
    const endpoint = `${id}-${hash(`${address} ${number}`)}`;
    const set = `affinity-${endpoint}-${port.affinitySeconds}`;
    const type = family === "ip" ? "ipv4_addr" : "ipv6_addr";
    out.sets.set(set, `type ${type}; flags dynamic,timeout; timeout ${port.affinitySeconds}s;`);
    const to = family === "ip" ? `${address}:${number}` : `[${address}]:${number}`;
    const chain = out.chain(`endpoint-${endpoint}-${port.affinitySeconds}`, () => [
      `update @${set} { ${family} saddr }`,
      `meta l4proto ${port.protocol.toLowerCase()} dnat ${family} to ${to}`,
    ]);
    return { set, chain };
  };
  const pick = (name: string, endpoints: readonly ServiceEndpoint[]) =>
    out.chain(`pick-${id}-${name}`, () => {
      const targets = endpoints.map(endpointChain);
      const verdicts = targets.map(({ chain }, i) => `${i} : goto ${chain}`);
      return [
        ...targets.map(({ set, chain }) => `${family} saddr @${set} goto ${chain}`),
        `numgen random mod ${targets.length} vmap { ${verdicts.join(", ")} }`,
      ];
    });
  if (frontend === "cluster") {
    const target = policy === "Local" ? pick("local", local) : pick("cluster", cluster);
    return out.chain(`service-${id}`, () => [...clusterMasquerade(options), `goto ${target}`]);
  }
  const toCluster = pick("cluster", cluster);
  if (policy === "Cluster")
    return out.chain(`external-${id}`, () => ["jump mark-for-masquerade", `goto ${toCluster}`]);
  const toLocal = local.length > 0 ? [`goto ${pick("local", local)}`] : [];
  return out.chain(`external-${id}`, () => [...shortCircuit(toCluster, options), ...toLocal]);
}

/** Rules that give traffic from pods and from the node itself all endpoints, although the policy is Local. */
function shortCircuit(chain: string, { family, podInterface, podSubnet }: RenderOptions): string[] {
  const fromPods = podInterface ? `iifname "${podInterface}"` : podSubnet && `${family} saddr ${podSubnet}`;
  return [
    ...(fromPods ? [`${fromPods} goto ${chain}`] : []),
    "fib saddr type local jump mark-for-masquerade",
    `fib saddr type local goto ${chain}`,
  ];
}

function clusterMasquerade({ family, podSubnet, masqueradeAll }: RenderOptions): string[] {
  if (masqueradeAll) return ["jump mark-for-masquerade"];
  return podSubnet ? [`${family} saddr != ${podSubnet} jump mark-for-masquerade`] : [];
}

function idOf({ name, protocol }: { readonly name: string; readonly protocol: Protocol }): string {
  return hash(`${name} ${protocol}`);
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
