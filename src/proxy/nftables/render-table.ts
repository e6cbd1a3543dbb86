import { emptyContent, renderChanges, type TableContent } from "../../lib/nftables/table-content.ts";
import { endpointMaps, frontendKeys, type RenderOptions, renderPickChains } from "./render-port.ts";

export interface TableOptions extends RenderOptions {
  readonly table: string;
  /** Addresses of this node whose node ports are served to pods and to the node itself. */
  readonly nodePortAddresses: readonly string[];
  /**
   * Addresses of this node at which other machines reach node ports and load balancers. Only used with `podInterface`;
   * without it all interfaces are served.
   */
  readonly exposedAddresses: readonly string[];
  /** Address of this machine on `podInterface`. Only pods and this machine reach it. */
  readonly gateway?: string;
  /** Range of cluster IPs. Connections to addresses in it that no service has are rejected. */
  readonly serviceSubnet?: string;
}

/** Bit that marks packets for masquerading: the default of kube-proxy. */
const masqueradeBit = "0x4000";

/**
 * Renders commands that replace the table by one with the base chains and these ports, in one transaction. It has chains
 * for services with up to `maxEndpoints` endpoints.
 */
export function renderTable(options: TableOptions, maxEndpoints: number, ports: TableContent): string[] {
  const { family, table } = options;
  const at = `${family} ${table}`;
  return [
    // A table that does not exist cannot be deleted.
    `add table ${at}`,
    `delete table ${at}`,
    `add table ${at}`,
    ...renderCollections(options),
    ...renderBaseChains(options),
    ...[...renderPickChains(family, maxEndpoints)].flatMap(([name, rule]) => [
      `add chain ${at} ${name}`,
      `add rule ${at} ${name} ${rule}`,
    ]),
    ...renderChanges(options, emptyContent, ports),
  ];
}

function renderCollections({ family, table, ...options }: TableOptions): string[] {
  const address = family === "ip" ? "ipv4_addr" : "ipv6_addr";
  const keys = frontendKeys(family);
  const frontend = `type ${address} . inet_proto . inet_service : verdict;`;
  const nodePort = "type inet_proto . inet_service : verdict;";
  const endpoints = (key: string) => `typeof ${key} . numgen random mod 2 : ${family} daddr . th dport;`;
  const maps: readonly (readonly [string, string])[] = [
    ["cluster-frontends", frontend],
    ["external-frontends", frontend],
    ["node-frontends", nodePort],
    ...Object.entries(endpointMaps).map(([name, key]) => [name, endpoints(keys[key])] as const),
    ["cluster-without-endpoints", frontend],
    ["external-without-endpoints", frontend],
    ["node-without-endpoints", nodePort],
    ["firewall", frontend],
  ];
  const sets: readonly (readonly [string, readonly string[]])[] = [
    ["node-port-addresses", options.nodePortAddresses],
    ["exposed-addresses", options.exposedAddresses],
    // External IPs, which all machines reach.
    ["external-addresses", []],
  ];
  return [
    ...maps.map(([name, definition]) => `add map ${family} ${table} ${name} { ${definition} }`),
    `add set ${family} ${table} hairpin { type ${address} . ${address}; }`,
    ...sets.map(([name]) => `add set ${family} ${table} ${name} { type ${address}; }`),
    ...sets.flatMap(([name, addresses]) =>
      addresses.length > 0 ? [`add element ${family} ${table} ${name} { ${addresses.join(", ")} }`] : [],
    ),
  ];
}

function renderBaseChains({ family, table, podInterface, gateway, serviceSubnet }: TableOptions): string[] {
  const keys = frontendKeys(family);
  /** Rules that pass packets to the chains for pods and the node, or to those for other machines. */
  const dispatch = (all: string, external: string) =>
    podInterface
      ? [
          `iifname "${podInterface}" jump ${all}`,
          `${family} daddr @exposed-addresses jump ${external}`,
          `${family} daddr @external-addresses jump ${external}`,
        ]
      : [`jump ${all}`];
  const nodePorts = (map: string) => `${family} daddr @node-port-addresses ${keys.node} vmap @${map}`;
  const unreachable = family === "ip" ? "icmp" : "icmpv6";
  const chains: Record<string, { readonly hook?: string; readonly rules: readonly string[] }> = {
    "mark-for-masquerade": { rules: [`meta mark set meta mark or ${masqueradeBit}`] },
    "reject-connection": { rules: [`reject with ${unreachable} type port-unreachable`] },
    "drop-external": {
      rules: [
        ...(podInterface ? [`iifname "${podInterface}" return`] : []),
        "fib saddr type local return",
        "drop",
      ],
    },
    external: { rules: [`${keys.external} vmap @external-frontends`, nodePorts("node-frontends")] },
    services: { rules: [`${keys.cluster} vmap @cluster-frontends`, "jump external"] },
    "external-check": {
      rules: [
        `${keys.external} vmap @firewall`,
        `${keys.external} vmap @external-without-endpoints`,
        nodePorts("node-without-endpoints"),
      ],
    },
    check: { rules: [`${keys.cluster} vmap @cluster-without-endpoints`, "jump external-check"] },
    // Before address translation, and in prerouting because packets to a cluster IP may have no route.
    "check-prerouting": {
      hook: "type filter hook prerouting priority -110;",
      rules: dispatch("check", "external-check").map((rule) => `ct state new ${rule}`),
    },
    "check-output": {
      hook: "type filter hook output priority -110;",
      rules: ["ct state new jump check"],
    },
    prerouting: {
      hook: "type nat hook prerouting priority -100;",
      rules: dispatch("services", "external"),
    },
    output: { hook: "type nat hook output priority -100;", rules: ["jump services"] },
    postrouting: {
      hook: "type nat hook postrouting priority 100;",
      rules: [
        `meta mark and ${masqueradeBit} != 0 meta mark set meta mark xor ${masqueradeBit} masquerade fully-random`,
        `ct status dnat ${family} saddr . ${family} daddr @hairpin masquerade fully-random`,
        // Node ports at 127.0.0.1: the pod's response has to return to this machine.
        ...(family === "ip" ? ['ct status dnat ip saddr 127.0.0.0/8 oifname != "lo" masquerade'] : []),
      ],
    },
    ...(serviceSubnet ? unknownServices(`${family} daddr ${serviceSubnet}`, podInterface) : {}),
    ...(podInterface ? redirectGuard(podInterface, family) : {}),
    ...(podInterface && family === "ip" ? podGuards(podInterface, gateway) : {}),
  };
  const names = Object.entries(chains);
  return [
    ...names.map(([name, { hook }]) => `add chain ${family} ${table} ${name}${hook ? ` { ${hook} }` : ""}`),
    ...names.flatMap(([name, { rules }]) =>
      rules.map((rule) => `add rule ${family} ${table} ${name} ${rule}`),
    ),
  ];
}

/** Chains behind address translation: what still goes to a cluster IP belongs to no service or to none of its ports. */
function unknownServices(toService: string, podInterface: string | undefined) {
  const fromPods = podInterface ? `iifname "${podInterface}" ` : "";
  return {
    "unknown-forward": {
      hook: "type filter hook forward priority -10;",
      rules: [`${fromPods}${toService} goto reject-connection`],
    },
    "unknown-output": {
      hook: "type filter hook output priority -10;",
      rules: [`${toService} goto reject-connection`],
    },
  };
}

function podGuards(podInterface: string, gateway: string | undefined) {
  return {
    // Node ports at 127.0.0.1 need route_localnet, which alone would expose the loopback of the node to pods
    // (CVE-2020-8558).
    "guard-loopback": {
      hook: "type filter hook input priority -10;",
      rules: [`iifname "${podInterface}" ip daddr 127.0.0.0/8 ct status and dnat == 0 drop`],
    },
    // The API server, DNS and node ports listen on this address for pods. Other machines could have a route to it.
    ...(gateway && {
      "guard-gateway": {
        hook: "type filter hook input priority -10;",
        rules: [`iifname != { "lo", "${podInterface}" } ip daddr ${gateway} ct state new drop`],
      },
    }),
  };
}

/**
 * Pods are on one subnet and reach each other through the node. A redirect would let them bypass it, and with it the address
 * translation of responses.
 */
function redirectGuard(podInterface: string, family: TableOptions["family"]) {
  const redirect = family === "ip" ? "icmp type redirect" : "icmpv6 type nd-redirect";
  return {
    "guard-redirects": {
      hook: "type filter hook output priority -10;",
      rules: [`oifname "${podInterface}" ${redirect} drop`],
    },
  };
}
