import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { badRequest } from "../../../api/status-error.ts";

/*
 * A node's address comes from its status, which its kubelet may write. Without limits a stolen kubelet
 * credential would make the API server, with its own certificate, knock on doors that only it can reach. So
 * addresses that name no machine of the cluster are refused: link-local ones (cloud metadata services),
 * multicast and unspecified ones, always; loopback ones, unless the cluster is one machine, where kubelets
 * listen there. What is reached is in any case spoken to in TLS only, and redirects are never followed.
 */

export interface AddressRules {
  /** The cluster is this machine: kubelets listen on loopback. */
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

/** Throws 400 for an address that may not be reached; names are judged by `createLookup`, once they are addresses. */
export function checkHost(host: string, rules: AddressRules): void {
  if (isIP(host) && !isProxyable(host, rules)) throw badRequest(notAllowed);
}

/** Resolves names as the system does, and fails when one of the answers may not be reached. */
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
