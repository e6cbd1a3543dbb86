import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Reports whether a host or address is a loopback address. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === "localhost";
  return loopback.check(host, family === 6 ? "ipv6" : "ipv4");
}

/**
 * Loopback listeners do not authenticate, so requests of web pages whose name resolves to this machine (DNS rebinding)
 * must be rejected: their `Host` header has the name of the page.
 */
export function isLocalHost(hostHeader: string | undefined, listenHost: string): boolean {
  const host = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(:\d+)?$/i.exec(hostHeader ?? "")?.[1]?.replace(/^\[|\]$/g, "");
  return host !== undefined && (isLoopback(host) || host.toLowerCase() === listenHost.toLowerCase());
}
