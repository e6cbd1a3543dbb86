import { createHash } from "node:crypto";
import { macOf } from "./ipv4.ts";

/** The host's end of the pod's cable: names of interfaces have 15 characters at most, so a hash of the id. */
export function hostLinkName(podId: string): string {
  return `kdl${createHash("sha256").update(podId).digest("hex").slice(0, 12)}`;
}

export interface PodLink {
  readonly podId: string;
  readonly address: string;
  readonly prefixLength: number;
  readonly gateway: string;
  readonly mtu: number;
  /** Where the host's end goes: the daemon's own network namespace. */
  readonly hostNamespacePath: string;
}

/** Lines for `ip -batch` inside the pod's namespace: they make the pair and hand the host its end. */
export function podLinkBatch(link: PodLink): readonly string[] {
  const { address, mtu, hostNamespacePath } = link;
  const peer = `peer name ${hostLinkName(link.podId)} mtu ${mtu} netns ${hostNamespacePath}`;
  return [
    `link add eth0 address ${macOf(address)} mtu ${mtu} type veth ${peer}`,
    `address add ${address}/${link.prefixLength} broadcast + dev eth0`,
    "link set eth0 up",
    `route add default via ${link.gateway} dev eth0`,
  ];
}

/** Lines for `ip -batch` on the host: its end into the bridge. Hairpin: a pod may reach itself by its host port. */
export function hostLinkBatch(podId: string, bridge: string): readonly string[] {
  const name = hostLinkName(podId);
  return [`link set ${name} master ${bridge} up`, `link set ${name} type bridge_slave hairpin on`];
}
