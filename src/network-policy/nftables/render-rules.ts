import { formatIp, type Interval } from "../../api/meta/ip-range.ts";
import { type IpFamily, ipFamilyOf } from "../../api/meta/validate-ip.ts";
import { emptyContent, renderChanges, type TableContent } from "../../lib/nftables/table-content.ts";
import type { AllowRule, Direction, RuleSet } from "../compile/rule-set.ts";

export const families = ["ip", "ip6"] as const;
export type Family = (typeof families)[number];

export interface PolicyTableOptions {
  readonly family: Family;
  readonly table: string;
  /** Interface of this machine through which packets of all pods come. */
  readonly podInterface: string;
}

const familyNames: Readonly<Record<Family, IpFamily>> = { ip: "IPv4", ip6: "IPv6" };
const directions = ["ingress", "egress"] as const;

/**
 * Base chains. A chain for each direction: `accept` ends only the chain, so that a connection between two isolated pods
 * has to be allowed by both. Addresses are those of pods: the hooks are after the translation of service addresses and
 * before masquerading. Packets of this machine to its pods pass none of the chains.
 */
function baseChains({ family, podInterface }: PolicyTableOptions): ReadonlyMap<string, BaseChain> {
  const established = "ct state established,related accept";
  const own = `${family} saddr . ${family} daddr @own accept`;
  // An address that is not known belongs to a pod whose policies are not known yet, or to none.
  const egress = [`${family} saddr != @pods drop`, own, `${family} saddr vmap @egress`];
  const discovery = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept";
  return new Map([
    [
      "egress-forward",
      {
        hook: "type filter hook forward priority -12;",
        rules: [established, `iifname != "${podInterface}" accept`, ...egress],
      },
    ],
    [
      "egress-input",
      {
        hook: "type filter hook input priority -12;",
        rules: [
          established,
          `iifname != "${podInterface}" accept`,
          ...(family === "ip6" ? [discovery] : []),
          ...egress,
        ],
      },
    ],
    [
      "ingress-forward",
      {
        hook: "type filter hook forward priority -11;",
        rules: [
          established,
          `oifname != "${podInterface}" accept`,
          `${family} daddr != @pods drop`,
          own,
          `${family} daddr vmap @ingress`,
        ],
      },
    ],
  ]);
}

/**
 * Base chains of the bridge. They let pods exchange frames with this machine only: packets between pods then pass the
 * chains above, also those of a pod that sends frames to the hardware address of another. Frames that br_netfilter passes
 * on after the translation of a service address have passed them too.
 *
 * @param hardwareAddress Address of the bridge itself.
 */
function bridgeChains(hardwareAddress: string): ReadonlyMap<string, BaseChain> {
  const isGroup = "ether daddr & 01:00:00:00:00:00 == 01:00:00:00:00:00";
  return new Map([
    [
      "received",
      {
        hook: "type filter hook prerouting priority -300;",
        rules: ["iifname != @links accept", `${isGroup} accept`, `ether daddr != ${hardwareAddress} drop`],
      },
    ],
    [
      "forwarded",
      { hook: "type filter hook forward priority -300;", rules: [`iifname @links ${isGroup} drop`] },
    ],
  ]);
}

interface BaseChain {
  readonly hook: string;
  readonly rules: readonly string[];
}

/** Table without the content that changes. */
export interface TableFrame {
  readonly family: Family | "bridge";
  readonly table: string;
  /** Commands for sets and maps, without family and table: `set pods { … }`. */
  readonly collections: readonly string[];
  readonly chains: ReadonlyMap<string, BaseChain>;
}

export function ipFrame(options: PolicyTableOptions): TableFrame {
  const { family, table } = options;
  const address = addressType(family);
  const collections = [
    `set pods { type ${address}; }`,
    `set own { type ${address} . ${address}; }`,
    ...directions.map((direction) => `map ${direction} { type ${address} : verdict; }`),
  ];
  return { family, table, collections, chains: baseChains(options) };
}

export function bridgeFrame(table: string, hardwareAddress: string): TableFrame {
  const chains = bridgeChains(hardwareAddress);
  return { family: "bridge", table, collections: ["set links { type ifname; }"], chains };
}

/** Renders commands that replace the table, in one transaction. */
export function renderPolicyTable(frame: TableFrame, content: TableContent): string[] {
  const { family, table, chains } = frame;
  const at = `${family} ${table}`;
  return [
    // A table that does not exist cannot be deleted.
    `add table ${at}`,
    `delete table ${at}`,
    `add table ${at}`,
    ...frame.collections.map((collection) => `add ${collection.replace(" ", ` ${at} `)}`),
    ...[...chains].map(([name, { hook }]) => `add chain ${at} ${name} { ${hook} }`),
    ...[...chains].flatMap(([name, { rules }]) => rules.map((rule) => `add rule ${at} ${name} ${rule}`)),
    ...renderChanges(frame, emptyContent, content),
  ];
}

/** Renders the ports of the bridge that belong to pods. */
export function renderLinks(links: readonly string[]): TableContent {
  return { ...emptyContent, elements: new Map([["links", new Map(links.map((link) => [`"${link}"`, ""]))]]) };
}

/** Renders a rule set for one family. */
export function renderRules(rules: RuleSet, family: Family): TableContent {
  const ipFamily = familyNames[family];
  const isOwn = (address: string) => ipFamilyOf(address) === ipFamily;
  const elements = new Map<string, ReadonlyMap<string, string>>();
  const sets = new Map<string, string>();
  const chains = new Map<string, readonly string[]>();
  const keys = (list: Iterable<string>) => new Map([...list].map((key) => [key, ""]));

  elements.set("pods", keys([...rules.pods].filter(isOwn)));
  const isolated = new Set<string>();
  for (const direction of directions) {
    const verdicts = [...rules.isolated[direction]].filter(([address]) => isOwn(address));
    for (const [address] of verdicts) isolated.add(address);
    elements.set(direction, new Map(verdicts.map(([address, group]) => [address, `goto ${group}`])));
  }
  // A pod cannot block connections to itself.
  elements.set("own", keys([...isolated].map((address) => `${address} . ${address}`)));
  for (const [name, policies] of rules.groups)
    chains.set(name, [...policies.map((policy) => `jump ${policy}`), "drop"]);
  for (const [name, policy] of rules.policies)
    chains.set(
      name,
      policy.rules.flatMap((rule) => renderRule(rule, policy.direction, family)),
    );
  for (const [name, addresses] of rules.peers) {
    sets.set(name, `type ${addressType(family)};`);
    elements.set(name, keys([...addresses].filter(isOwn)));
  }
  for (const [name, ports] of rules.namedPorts) {
    sets.set(name, `type ${addressType(family)} . inet_proto . inet_service;`);
    const own = ports.filter(({ address }) => isOwn(address));
    elements.set(
      name,
      keys(own.map(({ address, protocol, port }) => `${address} . ${protocol.toLowerCase()} . ${port}`)),
    );
  }
  return { elements, sets, chains, shared: new Map() };
}

/** Renders a rule as one line for each combination of peers and ports. */
function renderRule(rule: AllowRule, direction: Direction, family: Family): string[] {
  const peers = renderPeers(rule, `${family} ${direction === "ingress" ? "saddr" : "daddr"}`, family);
  const ports = renderPorts(rule, family);
  return peers.flatMap((peer) =>
    ports.map((port) => [peer, port, "accept"].filter((part) => part !== "").join(" ")),
  );
}

function renderPeers({ peers }: AllowRule, remote: string, family: Family): string[] {
  if (!peers) return [""];
  const ipFamily = familyNames[family];
  const blocks = peers.blocks[ipFamily];
  return [
    ...(peers.pods ? [`${remote} @${peers.pods}`] : []),
    ...(blocks.length > 0
      ? [`${remote} { ${formatIntervals(blocks, (number) => formatIp(number, ipFamily))} }`]
      : []),
  ];
}

function renderPorts({ ports }: AllowRule, family: Family): string[] {
  if (!ports) return [""];
  return [
    ...[...ports.numbers].map(
      ([protocol, intervals]) => `${protocol.toLowerCase()} dport { ${formatIntervals(intervals, String)} }`,
    ),
    ...ports.names.map((name) => `${family} daddr . meta l4proto . th dport @${name}`),
  ];
}

function formatIntervals(intervals: readonly Interval[], format: (number: bigint) => string): string {
  return intervals
    .map(({ first, last }) => (first === last ? format(first) : `${format(first)}-${format(last)}`))
    .join(", ");
}

function addressType(family: Family): string {
  return family === "ip" ? "ipv4_addr" : "ipv6_addr";
}
