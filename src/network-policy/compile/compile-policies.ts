import { createHash } from "node:crypto";
import type * as k8s from "@kubernetes/client-node";
import { type Interval, mergeIntervals, parseIpRange, subtractIntervals } from "../../api/meta/ip-range.ts";
import type { NetworkPolicy, Wire } from "../../api/meta/objects.ts";
import { formatLabelSelector, type Labels, labelSelectorOf, matchesLabels } from "../../api/meta/selector.ts";
import type { IpFamily } from "../../api/meta/validate-ip.ts";
import type {
  AllowRule,
  Direction,
  NamedPort,
  PolicyPod,
  PolicyRules,
  Protocol,
  RuleSet,
} from "./rule-set.ts";

export interface PolicyFacts {
  readonly policies: Iterable<NetworkPolicy>;
  readonly pods: Iterable<PolicyPod>;
  /** Labels of namespaces by name. */
  readonly namespaces: ReadonlyMap<string, Labels>;
}

type Peer = Wire<k8s.V1NetworkPolicyPeer>;
type Port = Wire<k8s.V1NetworkPolicyPort>;
type Selector = Wire<k8s.V1LabelSelector>;

const allPorts: Interval = { first: 0n, last: 65_535n };

/** Compiles network policies into the rules of one node. */
export function compilePolicies({ policies, pods, namespaces }: PolicyFacts): RuleSet {
  const podsOf = byNamespace(pods);
  const peers = new Map<string, ReadonlySet<string>>();
  const namedPorts = new Map<string, readonly NamedPort[]>();
  const compiled = new Map<string, PolicyRules>();
  const selecting: Record<Direction, Map<PolicyPod, string[]>> = { ingress: new Map(), egress: new Map() };

  /** Name of the set of pods that any of these peers selects. */
  function declarePeers(namespace: string, selected: readonly Peer[]): string {
    const key = selected.map(
      ({ namespaceSelector, podSelector }) =>
        `${namespaceSelector ? format(namespaceSelector) : `=${namespace}`} ${format(podSelector)}`,
    );
    const name = `peers-${hash([...new Set(key)].sort().join("\n"))}`;
    if (!peers.has(name))
      peers.set(name, new Set(selected.flatMap((peer) => [...selectPeers(namespace, peer)])));
    return name;
  }

  function* selectPeers(
    namespace: string,
    { namespaceSelector, podSelector }: Peer,
  ): Generator<string, void, undefined> {
    const inNamespace = namespaceSelector
      ? [...namespaces].filter(([, labels]) => matches(namespaceSelector, labels)).map(([name]) => name)
      : [namespace];
    for (const name of inNamespace)
      for (const { labels, addresses } of podsOf.get(name) ?? [])
        if (matches(podSelector ?? {}, labels)) yield* addresses;
  }

  /** Name of the set with this port of all pods. The port is that of the pod to which a connection goes. */
  function declarePort(protocol: Protocol, port: string): string {
    const name = `port-${protocol.toLowerCase()}-${hash(port)}`;
    if (!namedPorts.has(name)) namedPorts.set(name, [...findPorts(podsOf, protocol, port)]);
    return name;
  }

  function compileRule(namespace: string, remote: readonly Peer[], ports: readonly Port[]): AllowRule {
    const selected = remote.filter(({ ipBlock }) => !ipBlock);
    return {
      ...(remote.length > 0 && {
        peers: {
          ...(selected.length > 0 && { pods: declarePeers(namespace, selected) }),
          blocks: compileBlocks(remote),
        },
      }),
      ...(ports.length > 0 && { ports: compilePorts(ports, declarePort) }),
    };
  }

  for (const policy of policies) {
    const { namespace = "", name = "" } = policy.metadata;
    const spec = policy.spec;
    const selected = (podsOf.get(namespace) ?? []).filter(
      ({ isLocal, labels }) => isLocal && matches(spec?.podSelector ?? {}, labels),
    );
    if (!spec || selected.length === 0) continue;
    const rules = {
      ingress: (spec.ingress ?? []).map(({ from, ports }) => ({ remote: from ?? [], ports: ports ?? [] })),
      egress: (spec.egress ?? []).map(({ to, ports }) => ({ remote: to ?? [], ports: ports ?? [] })),
    };
    for (const direction of directionsOf(spec)) {
      const chain = `${direction}-${chainName(`${namespace}/${name}`)}`;
      compiled.set(chain, {
        direction,
        rules: rules[direction].map(({ remote, ports }) => compileRule(namespace, remote, ports)),
      });
      for (const pod of selected)
        selecting[direction].set(pod, [...(selecting[direction].get(pod) ?? []), chain]);
    }
  }

  const groups = new Map<string, readonly string[]>();
  const isolate = (direction: Direction) => {
    const isolated = new Map<string, string>();
    for (const [pod, chains] of selecting[direction]) {
      const group = `isolate-${direction}-${hash(chains.sort().join("\n"))}`;
      groups.set(group, chains);
      for (const address of pod.addresses) isolated.set(address, group);
    }
    return isolated;
  };
  const local = [...podsOf.values()].flat().filter(({ isLocal }) => isLocal);
  return {
    pods: new Set(local.flatMap(({ addresses }) => addresses)),
    isolated: { ingress: isolate("ingress"), egress: isolate("egress") },
    groups,
    policies: compiled,
    peers,
    namedPorts,
  };
}

function byNamespace(pods: Iterable<PolicyPod>): ReadonlyMap<string, readonly PolicyPod[]> {
  const found = new Map<string, PolicyPod[]>();
  for (const pod of pods) {
    const others = found.get(pod.namespace);
    if (others) others.push(pod);
    else found.set(pod.namespace, [pod]);
  }
  return found;
}

/** Directions in which a policy isolates. The API server sets `policyTypes`; the default is for other servers. */
function directionsOf({ policyTypes, egress }: Wire<k8s.V1NetworkPolicySpec>): Direction[] {
  const types = policyTypes?.length ? policyTypes : ["Ingress", ...(egress?.length ? ["Egress"] : [])];
  return (["ingress", "egress"] as const).filter((direction) =>
    types.some((type) => type.toLowerCase() === direction),
  );
}

function compileBlocks(remote: readonly Peer[]): Record<IpFamily, Interval[]> {
  const blocks: Record<IpFamily, Interval[]> = { IPv4: [], IPv6: [] };
  for (const { ipBlock } of remote) {
    const range = ipBlock && parseIpRange(ipBlock.cidr);
    if (!range) continue;
    const excepted = (ipBlock.except ?? []).flatMap((cidr) => parseIpRange(cidr) ?? []);
    blocks[range.family].push(
      ...subtractIntervals(
        range,
        excepted.filter(({ family }) => family === range.family),
      ),
    );
  }
  return { IPv4: mergeIntervals(blocks.IPv4), IPv6: mergeIntervals(blocks.IPv6) };
}

function compilePorts(
  ports: readonly Port[],
  declarePort: (protocol: Protocol, name: string) => string,
): NonNullable<AllowRule["ports"]> {
  const numbers = new Map<Protocol, Interval[]>();
  const names = new Set<string>();
  for (const { protocol = "TCP", port, endPort } of ports) {
    if (!isProtocol(protocol)) continue;
    if (typeof port === "string") names.add(declarePort(protocol, port));
    else {
      const interval = port === undefined ? allPorts : { first: BigInt(port), last: BigInt(endPort ?? port) };
      numbers.set(protocol, mergeIntervals([...(numbers.get(protocol) ?? []), interval]));
    }
  }
  return { numbers, names: [...names] };
}

function* findPorts(
  podsOf: ReadonlyMap<string, readonly PolicyPod[]>,
  protocol: Protocol,
  name: string,
): Generator<NamedPort, void, undefined> {
  for (const pods of podsOf.values())
    for (const { ports, addresses } of pods)
      for (const port of ports)
        if (port.name === name && port.protocol === protocol)
          for (const address of addresses) yield { address, protocol, port: port.port };
}

export function isProtocol(text: string): text is Protocol {
  return text === "TCP" || text === "UDP" || text === "SCTP";
}

function matches(selector: Selector, labels: Labels): boolean {
  return matchesLabels(labelSelectorOf(selector) ?? [], labels);
}

function format(selector: Selector | undefined): string {
  return formatLabelSelector(labelSelectorOf(selector) ?? []);
}

/** Longest name of a policy that is used in the name of its chain: those of nftables have at most 127 characters. */
const maxReadable = 100;

function chainName(key: string): string {
  return key.length <= maxReadable && /^[a-z0-9./-]+$/.test(key) ? key : hash(key);
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
