import { createHash } from "node:crypto";
import { access, readFile, writeFile } from "node:fs/promises";
import type { Logger } from "../../../lib/logger.ts";
import { runQuietTool, runTool } from "../run-process.ts";
import { gatewayOf, macOf, type Subnet } from "./ipv4.ts";

/** Creates the bridge with the gateway's address if it is missing, and enables forwarding. */
export async function ensureBridgeDevice(options: {
  name: string;
  subnet: Subnet;
  mtu: number;
  logger: Logger;
}): Promise<void> {
  const { name, subnet, mtu, logger } = options;
  const gateway = gatewayOf(subnet);
  if (!(await linkExists(name))) {
    await ipBatch([`link add ${name} type bridge`]);
    logger.info("created the bridge for pods", { bridge: name, address: gateway });
  }
  await ipBatch([
    // A fixed MAC address: a bridge otherwise takes the lowest of its ports', which changes as pods come and go.
    `link set ${name} address ${macOf(gateway)} mtu ${mtu} up`,
    `address replace ${gateway}/${subnet.prefixLength} broadcast + dev ${name}`,
  ]);
  if (await setSysctl("net/ipv4/ip_forward", "1"))
    logger.info("enabled net.ipv4.ip_forward: pods reach other networks through this machine");
}

/** Allows connections from 127.0.0.1 to be forwarded to pods. */
export async function allowLocalnetRouting(bridge: string): Promise<void> {
  await setSysctl(`net/ipv4/conf/${bridge}/route_localnet`, "1");
}

export function linkExists(name: string): Promise<boolean> {
  return access(`/sys/class/net/${name}`).then(
    () => true,
    () => false,
  );
}

/** Removes a link if it exists. */
export async function removeLink(name: string): Promise<void> {
  if (!(await linkExists(name))) return;
  try {
    await ipBatch([`link delete ${name}`]);
  } catch (error) {
    if (await linkExists(name)) throw error;
  }
}

export async function ipBatch(lines: readonly string[], env?: Record<string, string>): Promise<void> {
  await runQuietTool("ip", ["-batch", "-"], { input: `${lines.join("\n")}\n`, env });
}

/** MTU of the default route's device, which packets of pods have to fit. */
export async function uplinkMtu(): Promise<number> {
  const route = await runTool("ip", ["-4", "route", "show", "default"]).catch(() => "");
  const device = /\bdev (\S+)/.exec(route)?.[1];
  const text = device ? await readFile(`/sys/class/net/${device}/mtu`, "utf8").catch(() => "") : "";
  return Number(text) || 1500;
}

/** Sets a sysctl. Returns whether it was changed. */
async function setSysctl(path: string, value: string): Promise<boolean> {
  const file = `/proc/sys/${path}`;
  if ((await readFile(file, "utf8")).trim() === value) return false;
  await writeFile(file, value);
  return true;
}

/**
 * Name of the host's end of the pod's veth pair: a hash of the ID, because interface names have at most 15 characters.
 */
export function hostLinkName(podId: string): string {
  return `kdl${createHash("sha256").update(podId).digest("hex").slice(0, 12)}`;
}

interface PodLink {
  readonly podId: string;
  readonly address: string;
  readonly gateway: string;
  readonly mtu: number;
  /** Namespace of the host's end: the daemon's own network namespace. */
  readonly hostNamespacePath: string;
}

/**
 * Lines for `ip -batch` inside the pod's namespace, which create the pair and move one end to the host. The pod sends
 * packets for other pods to the gateway too, so that the host sees both directions of a connection: it translates the
 * addresses of services, and responses that bypass it would keep the address of the pod.
 */
export function podLinkBatch(link: PodLink): readonly string[] {
  const { address, mtu, hostNamespacePath } = link;
  const peer = `peer name ${hostLinkName(link.podId)} mtu ${mtu} netns ${hostNamespacePath}`;
  return [
    `link add eth0 address ${macOf(address)} mtu ${mtu} type veth ${peer}`,
    `address add ${address}/32 dev eth0`,
    "link set eth0 up",
    `route add ${link.gateway} dev eth0 scope link`,
    `route add default via ${link.gateway} dev eth0`,
  ];
}

/**
 * Lines for `ip -batch` on the host, which add its end to the bridge. Hairpin lets a pod reach itself by its host port.
 */
export function hostLinkBatch(podId: string, bridge: string): readonly string[] {
  const name = hostLinkName(podId);
  return [`link set ${name} master ${bridge} up`, `link set ${name} type bridge_slave hairpin on`];
}
