import { dnsLabelProblems, dnsSubdomainProblems } from "../../api/names.ts";
import type { Pod } from "../../api/objects.ts";

export interface PodHostname {
  readonly hostname: string;
  /** Empty for a pod without a subdomain. */
  readonly domain: string;
}

/** 64 bytes with the one that ends it. */
const maxHostname = 63;
/** What the kernel keeps of a node's name. */
const maxFqdn = 64;

export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  const { hostname, hostnameOverride, subdomain } = spec ?? {};
  if (hostnameOverride !== undefined) {
    refuse("HostnameOverride", hostnameOverride, "subdomain", dnsSubdomainProblems(hostnameOverride));
    return { hostname: truncate(hostnameOverride), domain: "" };
  }
  if (hostname) refuse("Hostname", hostname, "label", dnsLabelProblems(hostname));
  if (subdomain) refuse("Subdomain", subdomain, "label", dnsLabelProblems(subdomain));
  return {
    hostname: truncate(hostname || (metadata.name ?? "")),
    domain: subdomain ? `${subdomain}.${metadata.namespace}.svc.${clusterDomain}` : "",
  };
}

/** The host name as the kernel is told it. */
export function kernelHostname({ hostname, domain }: PodHostname, setHostnameAsFQDN = false): string {
  if (!domain || !setHostnameAsFQDN) return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= maxFqdn) return fqdn;
  const limit = `(${maxFqdn} characters is the max, ${fqdn.length} characters requested)`;
  throw new Error(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ${limit}`,
  );
}

function truncate(hostname: string): string {
  return hostname.length <= maxHostname ? hostname : hostname.slice(0, maxHostname).replace(/[-.]+$/, "");
}

function refuse(field: string, value: string, kind: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new Error(`pod ${field} ${JSON.stringify(value)} is not a valid DNS ${kind}: ${problems.join(";")}`);
}
