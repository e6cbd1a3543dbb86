import { access, readFile, writeFile } from "node:fs/promises";
import type { Logger } from "../../../lib/logger.ts";
import { runQuietTool, runTool } from "../run-process.ts";
import { gatewayOf, macOf, type Subnet } from "./ipv4.ts";

/** Makes the bridge, with the gateway's address, where it is missing; the machine forwards from then on. */
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
    logger.info("made the bridge for pods", { bridge: name, address: gateway });
  }
  await ipBatch([
    // A fixed hardware address: a bridge otherwise takes the lowest of its ports', and changes it as pods come and go.
    `link set ${name} address ${macOf(gateway)} mtu ${mtu} up`,
    `address replace ${gateway}/${subnet.prefixLength} broadcast + dev ${name}`,
  ]);
  if (await setSysctl("net/ipv4/ip_forward", "1"))
    logger.info("switched on net.ipv4.ip_forward: pods reach other networks through this machine");
}

/** Lets connections from 127.0.0.1 be sent on to pods. */
export async function allowLocalnetRouting(bridge: string): Promise<void> {
  await setSysctl(`net/ipv4/conf/${bridge}/route_localnet`, "1");
}

export function linkExists(name: string): Promise<boolean> {
  return access(`/sys/class/net/${name}`).then(
    () => true,
    () => false,
  );
}

/** Removes a link; one that is not there, or goes meanwhile, is as good as removed. */
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

/** The MTU of the way out: packets of pods have to fit there. */
export async function uplinkMtu(): Promise<number> {
  const route = await runTool("ip", ["-4", "route", "show", "default"]).catch(() => "");
  const device = /\bdev (\S+)/.exec(route)?.[1];
  const text = device ? await readFile(`/sys/class/net/${device}/mtu`, "utf8").catch(() => "") : "";
  return Number(text) || 1500;
}

/** Whether it had to be changed. */
async function setSysctl(path: string, value: string): Promise<boolean> {
  const file = `/proc/sys/${path}`;
  if ((await readFile(file, "utf8")).trim() === value) return false;
  await writeFile(file, value);
  return true;
}
