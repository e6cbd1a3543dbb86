import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether only this machine reaches a host or address. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === "localhost";
  return loopback.check(host, family === 6 ? "ipv6" : "ipv4");
}

/**
 * On loopback nobody has to say who he is, so a page from elsewhere whose name suddenly resolves to this machine (DNS
 * rebinding) must not be answered: its requests carry its own name in `Host`.
 */
export function isLocalHost(hostHeader: string | undefined, listenHost: string): boolean {
  const host = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(:\d+)?$/i.exec(hostHeader ?? "")?.[1]?.replace(/^\[|\]$/g, "");
  return host !== undefined && (isLoopback(host) || host.toLowerCase() === listenHost.toLowerCase());
}
