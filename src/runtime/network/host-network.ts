import { networkInterfaces } from "node:os";
import type { Network } from "./network.ts";

/** Pods share the host's network: nothing to make and nothing to release. */
export function createHostNetwork(): Network {
  return {
    name: "host",
    limitations: ["pods share the host's network: one address and one set of ports for all"],
    problem: async () => undefined,
    attach: async () => ({ namespacePath: "host", addresses: [hostAddress()] }),
    check: async () => {},
    detach: async () => {},
    list: async () => [],
    close: async () => {},
  };
}

/** The host's first address that others can reach. */
function hostAddress(): string {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  const address = addresses.find(({ family }) => family === "IPv4") ?? addresses[0];
  return address?.address ?? "127.0.0.1";
}
