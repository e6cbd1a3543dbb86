import type { Answer, SrvAnswer } from "dns-packet";
import type { Service } from "../../api/meta/objects.ts";
import { canonicalAddress, parseDashedAddress } from "./addresses.ts";
import { clusterIpsOf, type RecordView } from "./record-view.ts";
import { reverseNames } from "./reverse-names.ts";
import {
  addressRecordType,
  type EndpointRecord,
  type PortRecord,
  portRecords,
  readyEndpoints,
} from "./service-endpoints.ts";

export interface Zone {
  /** Domain of the cluster in lower case, without the trailing dot: `cluster.local`. */
  readonly domain: string;
  readonly ttlSeconds: number;
}

export interface Question {
  /** Labels in lower case. */
  readonly labels: readonly string[];
  /** `A`, `SRV`, `UNKNOWN_65`. */
  readonly type: string;
}

export type Resolution =
  | ClusterResolution
  /** Other servers have to resolve the name. */
  | { readonly kind: "outside" };

/** Resolution of a name of the cluster. Without answers the response is negative and needs the zone's SOA record. */
export interface ClusterResolution {
  readonly kind: "cluster";
  readonly rcode: "NOERROR" | "NXDOMAIN";
  readonly answers: readonly Answer[];
  readonly additionals: readonly Answer[];
  /** Target of the last CNAME record if it is outside of the cluster and has to be resolved too. */
  readonly externalName?: string;
}

/** Version of the Kubernetes DNS specification. */
const schemaVersion = "1.1.0";
const schemaTtlSeconds = 28_800;
/** Maximum number of ExternalName services that lead to one another. */
const maxAliases = 8;

const nothing: ClusterResolution = { kind: "cluster", rcode: "NOERROR", answers: [], additionals: [] };
const noSuchName: ClusterResolution = { ...nothing, rcode: "NXDOMAIN" };

/** Resolves a question by the Kubernetes DNS specification 1.1. */
export function resolve(view: RecordView, zone: Zone, { labels, type }: Question): Resolution {
  const name = labels.join(".");
  if (name === zone.domain || name.endsWith(`.${zone.domain}`)) {
    const relative = labels.slice(0, labels.length - zone.domain.split(".").length);
    return resolveInZone(view, zone, { name, relative, type });
  }
  const names = reverseNames(view, zone.domain, labels);
  if (names.length === 0) return { kind: "outside" };
  const answers = names.map((data): Answer => ({ name, type: "PTR", ttl: zone.ttlSeconds, data }));
  return type === "PTR" ? { ...nothing, answers } : nothing;
}

/** SOA record of the zone, which negative responses contain. Its TTL is how long clients may cache them. */
export function soaRecord({ domain, ttlSeconds }: Zone): Answer {
  return {
    name: domain,
    type: "SOA",
    ttl: ttlSeconds,
    data: {
      mname: `ns.dns.${domain}`,
      rname: `hostmaster.${domain}`,
      // Secondary servers, which would compare serials, do not exist.
      serial: 1,
      refresh: 7_200,
      retry: 1_800,
      expire: 86_400,
      minimum: ttlSeconds,
    },
  };
}

interface ZoneQuestion {
  readonly name: string;
  /** Labels before the domain of the zone. */
  readonly relative: readonly string[];
  readonly type: string;
}

function resolveInZone(view: RecordView, zone: Zone, question: ZoneQuestion): ClusterResolution {
  const { name, relative, type } = question;
  const path = relative.slice(0, -1);
  switch (relative.at(-1)) {
    case undefined:
      return resolveApex(zone, question);
    case "dns-version":
      if (path.length > 0) return noSuchName;
      if (type !== "TXT") return nothing;
      return { ...nothing, answers: [{ name, type: "TXT", ttl: schemaTtlSeconds, data: schemaVersion }] };
    case "dns":
      if (path.length === 0) return nothing;
      if (path.join(".") !== "ns") return noSuchName;
      return addressAnswers(nameServerAddresses(view), zone, question);
    case "svc":
      return resolveService(view, zone, question, path);
    case "pod":
      return resolvePod(view, zone, question, path);
    default:
      return noSuchName;
  }
}

function resolveApex(zone: Zone, { name, type }: ZoneQuestion): ClusterResolution {
  if (type === "SOA") return { ...nothing, answers: [soaRecord(zone)] };
  if (type !== "NS") return nothing;
  return {
    ...nothing,
    answers: [{ name, type: "NS", ttl: zone.ttlSeconds, data: `ns.dns.${zone.domain}` }],
  };
}

function nameServerAddresses(view: RecordView): string[] {
  const service = view.service("kube-system", "kube-dns");
  return service ? clusterIpsOf(service) : [];
}

/** Resolves `SERVICE.NAMESPACE`, `HOSTNAME.SERVICE.NAMESPACE` and `_PORT._PROTOCOL.SERVICE.NAMESPACE` below `svc`. */
function resolveService(
  view: RecordView,
  zone: Zone,
  question: ZoneQuestion,
  path: readonly string[],
): ClusterResolution {
  const [namespace = "", serviceName = "", ...below] = [...path].reverse();
  if (path.length === 0) return nothing;
  if (path.length === 1) return view.hasServices(namespace) ? nothing : noSuchName;
  const service = view.service(namespace, serviceName);
  if (!service || path.length > 4) return noSuchName;
  const { type = "", externalName = "" } = service.spec ?? {};
  if (type === "ExternalName")
    return path.length === 2 ? resolveAlias(view, zone, question, externalName) : noSuchName;
  const records = recordsOf(view, zone, service);
  const [first = "", second] = below;
  if (second !== undefined) return resolvePort(records, zone, question, { protocol: first, port: second });
  if (first.startsWith("_"))
    return records.ports.some(({ protocol }) => `_${protocol}` === first) ? nothing : noSuchName;
  if (first !== "") {
    const named = records.endpoints.filter(({ hostname }) => hostname === first);
    if (named.length === 0) return noSuchName;
    return addressAnswers(
      named.map(({ address }) => address),
      zone,
      question,
    );
  }
  if (records.targets.length === 0) return noSuchName;
  // Not part of the specification: programs that look for the peers of a StatefulSet query the service itself.
  if (question.type === "SRV") return serviceRecords(records, zone, question, () => true);
  return addressAnswers(
    records.targets.map(({ address }) => address),
    zone,
    question,
  );
}

interface ServiceRecords {
  readonly endpoints: readonly EndpointRecord[];
  /** Addresses of the service's name: its cluster IPs, or the endpoints of a headless service. */
  readonly targets: readonly (Pick<EndpointRecord, "address" | "ports"> & { readonly name: string })[];
  /** Ports of all targets. */
  readonly ports: readonly PortRecord[];
}

function recordsOf(view: RecordView, zone: Zone, service: Service): ServiceRecords {
  const { namespace = "", name = "" } = service.metadata;
  const fqdn = `${name}.${namespace}.svc.${zone.domain}`;
  const endpoints = readyEndpoints(service, view.slicesOf(namespace, name));
  const clusterIps = clusterIpsOf(service);
  const ports = portRecords(service.spec?.ports);
  const targets =
    clusterIps.length > 0
      ? clusterIps.map((address) => ({ address, ports, name: fqdn }))
      : endpoints.map((endpoint) => ({ ...endpoint, name: `${endpoint.hostname}.${fqdn}` }));
  return { endpoints, targets, ports: targets.flatMap((target) => target.ports) };
}

function resolvePort(
  records: ServiceRecords,
  zone: Zone,
  question: ZoneQuestion,
  { protocol, port }: { readonly protocol: string; readonly port: string },
): ClusterResolution {
  const isWanted = (candidate: PortRecord) =>
    candidate.name !== "" && `_${candidate.name}` === port && `_${candidate.protocol}` === protocol;
  if (!records.ports.some(isWanted)) return noSuchName;
  return question.type === "SRV" ? serviceRecords(records, zone, question, isWanted) : nothing;
}

/** SRV records of the ports that are wanted, with the addresses of their targets as additional records. */
function serviceRecords(
  { targets }: ServiceRecords,
  { ttlSeconds: ttl }: Zone,
  { name }: ZoneQuestion,
  isWanted: (port: PortRecord) => boolean,
): ClusterResolution {
  const ports = new Map<string, { readonly port: number; readonly target: string }>();
  for (const target of targets)
    for (const { port } of target.ports.filter(isWanted))
      ports.set(`${port} ${target.name}`, { port, target: target.name });
  const weight = Math.max(1, Math.floor(100 / Math.max(1, ports.size)));
  const answers = [...ports.values()].map(
    (data): SrvAnswer => ({ name, type: "SRV", ttl, data: { priority: 0, weight, ...data } }),
  );
  const additionals = targets.map(
    ({ address, name: target }): Answer => ({
      name: target,
      type: addressRecordType(address),
      ttl,
      data: address,
    }),
  );
  return { ...nothing, answers, additionals };
}

/** Resolves an ExternalName service. Aliases inside the cluster are followed, so that the response is complete. */
function resolveAlias(
  view: RecordView,
  zone: Zone,
  question: ZoneQuestion,
  externalName: string,
): ClusterResolution {
  const { name, type } = question;
  let target = aliasTarget(externalName);
  if (target === undefined) return noSuchName;
  const answers: Answer[] = [];
  let owner = name;
  for (let aliases = 0; aliases < maxAliases; aliases++) {
    answers.push({ name: owner, type: "CNAME", ttl: zone.ttlSeconds, data: target });
    if (type === "CNAME") return { ...nothing, answers };
    const labels = target.split(".");
    const inZone = target === zone.domain || target.endsWith(`.${zone.domain}`);
    if (!inZone) return { ...nothing, answers, externalName: target };
    const next = aliasOf(view, zone, labels);
    if (next === undefined) {
      const end = resolve(view, zone, { labels, type });
      return end.kind === "cluster" ? { ...end, answers: [...answers, ...end.answers] } : noSuchName;
    }
    owner = target;
    target = next;
  }
  return { ...nothing, answers };
}

/** Target of the ExternalName service with this name. Undefined if the name is not that of such a service. */
function aliasOf(view: RecordView, { domain }: Zone, labels: readonly string[]): string | undefined {
  const [name = "", namespace = "", ...rest] = labels;
  if (rest.join(".") !== `svc.${domain}`) return undefined;
  const { type, externalName = "" } = view.service(namespace, name)?.spec ?? {};
  return type === "ExternalName" ? aliasTarget(externalName) : undefined;
}

/** Target of a CNAME record. Undefined for text that is not a name in DNS: an address, or a label that is too long. */
function aliasTarget(externalName: string): string | undefined {
  const target = externalName.toLowerCase().replace(/\.$/, "");
  if (canonicalAddress(target) !== undefined || target.length > 253) return undefined;
  return target.split(".").every((label) => label.length > 0 && label.length <= 63) ? target : undefined;
}

/** Resolves `10-0-0-1.NAMESPACE` below `pod`. Only addresses of pods that exist are resolved. */
function resolvePod(
  view: RecordView,
  zone: Zone,
  question: ZoneQuestion,
  path: readonly string[],
): ClusterResolution {
  const [namespace = "", label = ""] = [...path].reverse();
  if (path.length === 0) return nothing;
  if (path.length === 1) return view.hasPods(namespace) ? nothing : noSuchName;
  const address = path.length === 2 ? parseDashedAddress(label) : undefined;
  if (address === undefined || !view.hasPodAt(namespace, address)) return noSuchName;
  return addressAnswers([address], zone, question);
}

function addressAnswers(
  addresses: readonly string[],
  { ttlSeconds: ttl }: Zone,
  { name, type }: ZoneQuestion,
): ClusterResolution {
  const answers = [...new Set(addresses)]
    .filter((address) => addressRecordType(address) === type)
    .map((data): Answer => ({ name, type: addressRecordType(data), ttl, data }));
  return { ...nothing, answers };
}
