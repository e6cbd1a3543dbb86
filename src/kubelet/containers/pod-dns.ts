import { isIPv6 } from "node:net";
import type { Pod } from "../../api/meta/objects.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import type { DNSConfig } from "../../cri/generated/cri.ts";
import { describePod } from "../model/cri-labels.ts";

export interface DnsFacts {
  /** Empty if the cluster has no DNS. */
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** Resolver configuration of the node; undefined if pods must not use it. */
  readonly resolver: DNSConfig | undefined;
  readonly nodeIps: readonly string[];
}

interface PodDns {
  readonly config: DNSConfig;
  readonly warnings: readonly EventToRecord[];
}

// Limits of resolvers: 3 servers, 32 search domains of 2,048 characters in total and 253 characters each.
const maxServers = 3;
const maxSearches = 32;
const maxSearchChars = 2_048;
const maxSearchChar = 253;

/** Resolver configuration of a pod according to its dnsPolicy and dnsConfig. */
export function podDns(pod: Pod, facts: DnsFacts): PodDns {
  const { config, warnings } = byPolicy(pod, facts);
  const { nameservers = [], searches = [], options = [] } = pod.spec?.dnsConfig ?? {};
  const servers = unique([...config.servers, ...nameservers]);
  const domains = unique([...config.searches, ...searches]);
  const fitting = fittingSearches(domains);
  const applied = servers.slice(0, maxServers);
  return {
    config: { servers: applied, searches: fitting, options: mergeOptions(config.options, options) },
    warnings: [
      ...warnings,
      ...(applied.length < servers.length ? [tooMany(serverWords, applied)] : []),
      ...(fitting.length < domains.length ? [tooMany(searchWords, fitting)] : []),
    ],
  };
}

function byPolicy(pod: Pod, facts: DnsFacts): PodDns {
  const { clusterDns, clusterDomain, resolver } = facts;
  switch (policyOf(pod)) {
    case "none":
      return { config: { servers: [], searches: [], options: [] }, warnings: [] };
    case "node":
      return { config: nodeResolver(facts), warnings: [] };
    case "cluster": {
      if (clusterDns.length === 0) return { config: nodeResolver(facts), warnings: [missingDns(pod)] };
      const domains = [
        `${pod.metadata.namespace}.svc.${clusterDomain}`,
        `svc.${clusterDomain}`,
        clusterDomain,
      ];
      const searches = clusterDomain ? domains : [];
      return {
        config: {
          servers: [...clusterDns],
          searches: [...searches, ...(resolver?.searches ?? [])],
          options: ["ndots:5"],
        },
        warnings: [],
      };
    }
  }
}

/** Whether the pod's resolver is the DNS server of the cluster. */
export function usesClusterDns(pod: Pod): boolean {
  return policyOf(pod) === "cluster";
}

function policyOf({ spec }: Pod): "none" | "node" | "cluster" {
  switch (spec?.dnsPolicy) {
    case "None":
      return "none";
    case "Default":
      return "node";
    case "ClusterFirstWithHostNet":
      return "cluster";
    default:
      return spec?.hostNetwork ? "node" : "cluster";
  }
}

/** Falls back to the loopback address, so that the runtime's default resolver is not used by accident. */
function nodeResolver({ resolver, nodeIps }: DnsFacts): DNSConfig {
  if (resolver) return resolver;
  const servers = nodeIps.map((ip) => (isIPv6(ip) ? "::1" : "127.0.0.1"));
  return { servers: servers.length > 0 ? servers : ["127.0.0.1"], searches: ["."], options: [] };
}

function missingDns(pod: Pod): EventToRecord {
  const what =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy.';
  const message = `pod: "${describePod(pod)}". ${what} Falling back to "Default" policy.`;
  return { type: "Warning", reason: "MissingClusterDNS", message };
}

function fittingSearches(searches: readonly string[]): string[] {
  const fitting: string[] = [];
  let chars = -1;
  for (const search of searches.slice(0, maxSearches)) {
    // Some resolvers abort the process on longer domains.
    if (search.length > maxSearchChar) continue;
    chars += search.length + 1;
    if (chars > maxSearchChars) break;
    fitting.push(search);
  }
  return fitting;
}

const serverWords = { what: "Nameserver", items: "nameservers", line: "nameserver line" };
const searchWords = { what: "Search Line", items: "search paths", line: "search line" };

function tooMany({ what, items, line }: typeof serverWords, applied: readonly string[]): EventToRecord {
  const limits = `${what} limits were exceeded, some ${items} have been omitted`;
  const message = `${limits}, the applied ${line} is: ${applied.join(" ")}`;
  return { type: "Warning", reason: "DNSConfigForming", message };
}

/** Merges options; the pod's own replace those with the same name. */
function mergeOptions(
  existing: readonly string[],
  own: readonly { name?: string; value?: string }[],
): string[] {
  const merged = new Map(existing.map((option) => splitOption(option)));
  for (const { name = "", value = "" } of own) merged.set(name, value);
  return [...merged].map(([name, value]) => (value ? `${name}:${value}` : name));
}

function splitOption(option: string): [name: string, value: string] {
  const colon = option.indexOf(":");
  return colon < 0 ? [option, ""] : [option.slice(0, colon), option.slice(colon + 1)];
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
