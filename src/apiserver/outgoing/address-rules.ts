import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { badRequest } from "../../api/meta/status-error.ts";

/**
 * Addresses of kubelets to which the API server may connect. A node's address comes from its status, which its kubelet
 * may write. Without limits, a stolen kubelet credential could make the API server connect, with its own certificate, to
 * addresses that only it can reach. Therefore link-local addresses (cloud metadata services), multicast and unspecified
 * addresses are always rejected, and loopback addresses unless the cluster is one machine. Connections always use TLS,
 * and redirects are never followed.
 */
export interface AddressRules {
  /** Whether the cluster is one machine, so that kubelets listen on loopback. */
  readonly allowLoopback: boolean;
}

const notAllowed = "address not allowed";

const noMachine = new BlockList();
noMachine.addSubnet("0.0.0.0", 8, "ipv4");
noMachine.addSubnet("169.254.0.0", 16, "ipv4");
noMachine.addSubnet("224.0.0.0", 3, "ipv4");
noMachine.addAddress("::", "ipv6");
noMachine.addSubnet("fe80::", 10, "ipv6");
noMachine.addSubnet("ff00::", 8, "ipv6");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

export function isProxyable(address: string, { allowLoopback }: AddressRules): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (noMachine.check(address, family)) return false;
  return allowLoopback || !loopback.check(address, family);
}

/** Throws 400 for an address that is not allowed. Host names are checked by `createLookup` when they are resolved. */
export function checkHost(host: string, rules: AddressRules): void {
  if (isIP(host) && !isProxyable(host, rules)) throw badRequest(notAllowed);
}

/** Resolves names with the system's resolver. Fails when one of the addresses is not allowed. */
export function createLookup(rules: AddressRules): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) return callback(error ?? new Error("no addresses for hostname"), []);
      if (addresses.some(({ address }) => !isProxyable(address, rules))) {
        return callback(new Error(notAllowed), []);
      }
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}
