import type { PodSpec } from "../../api/objects.ts";
import type { PodHostname } from "./pod-hostname.ts";

type HostAliases = NonNullable<PodSpec["hostAliases"]>;

interface PodHosts extends PodHostname {
  readonly podIps: readonly string[];
  readonly aliases: HostAliases | undefined;
}

/** /etc/hosts of a pod with a network of its own. */
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

/** And of one on the node's network: the node's, with the pod's own names after it. */
export function renderNodeHosts(nodeHosts: string, aliases: HostAliases | undefined): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${aliasLines(aliases)}`;
}

function aliasLines(aliases: HostAliases = []): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
