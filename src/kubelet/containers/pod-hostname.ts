import { dnsLabelProblems, dnsSubdomainProblems } from "../../api/meta/names.ts";
import type { Pod, PodSpec } from "../../api/meta/objects.ts";

export interface PodHostname {
  readonly hostname: string;
  /** Empty for a pod without a subdomain. */
  readonly domain: string;
}

/** The kernel's limit is 64 bytes including the terminator. */
const maxHostname = 63;
/** Maximum length of a host name in the kernel. */
const maxFqdn = 64;

export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  const { hostname, hostnameOverride, subdomain } = spec ?? {};
  if (hostnameOverride !== undefined) {
    checkName("HostnameOverride", hostnameOverride, "subdomain", dnsSubdomainProblems(hostnameOverride));
    return { hostname: truncate(hostnameOverride), domain: "" };
  }
  if (hostname) checkName("Hostname", hostname, "label", dnsLabelProblems(hostname));
  if (subdomain) checkName("Subdomain", subdomain, "label", dnsLabelProblems(subdomain));
  return {
    hostname: truncate(hostname || (metadata.name ?? "")),
    domain: subdomain ? `${subdomain}.${metadata.namespace}.svc.${clusterDomain}` : "",
  };
}

/** Host name that the kernel reports in the pod. */
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

function checkName(field: string, value: string, kind: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new Error(`pod ${field} ${JSON.stringify(value)} is not a valid DNS ${kind}: ${problems.join(";")}`);
}

type HostAliases = NonNullable<PodSpec["hostAliases"]>;

interface PodHosts extends PodHostname {
  readonly podIps: readonly string[];
  readonly aliases: HostAliases | undefined;
}

/** Content of /etc/hosts for a pod with its own network. */
export function renderHosts({ podIps, hostname, domain, aliases }: PodHosts): string {
  const names = domain ? `${hostname}.${domain}\t${hostname}` : hostname;
  return [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...podIps.map((ip) => `${ip}\t${names}`),
    aliasLines(aliases),
  ].join("\n");
}

/** Content of /etc/hosts for a pod on the host network: the node's file and the pod's host aliases. */
export function renderNodeHosts(nodeHosts: string, aliases: HostAliases | undefined): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${aliasLines(aliases)}`;
}

function aliasLines(aliases: HostAliases = []): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
