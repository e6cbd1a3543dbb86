import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ImageError } from "../image/image-error.ts";

/*
 * A registry names other addresses: where to get a token, where a blob is kept. A hostile one would name what only this
 * machine reaches: services on its loopback, the metadata service of its cloud. Private networks stay open: the storage
 * behind a company's registry is there.
 */

const own = new BlockList();
own.addSubnet("127.0.0.0", 8, "ipv4");
own.addSubnet("0.0.0.0", 8, "ipv4");
own.addSubnet("169.254.0.0", 16, "ipv4");
own.addAddress("::1", "ipv6");
own.addAddress("::", "ipv6");
own.addSubnet("fe80::", 10, "ipv6");
// Metadata services that are not link-local: of EC2, Alibaba Cloud, Azure and Oracle Cloud.
own.addAddress("fd00:ec2::254", "ipv6");
for (const address of ["100.100.100.200", "168.63.129.16", "192.0.0.192"]) own.addAddress(address, "ipv4");

/** Whether the address of `to` is to be judged: on the machine's own loopback a registry may name its neighbours. */
export function isReferral(from: URL, to: URL): boolean {
  return from.host !== to.host && !isOwn(bare(from.hostname));
}

/** Throws for an address that may not be reached; names are judged by `referredLookup`, once they are addresses. */
export function checkReferred(hostname: string): void {
  if (isOwn(bare(hostname))) throw refused(hostname);
}

/** Resolves names as the system does, and fails when one of the answers may not be reached. */
export const referredLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error || !first) return callback(error ?? new Error(`no address for ${hostname}`), []);
    if (addresses.some(({ address }) => isOwn(address))) return callback(refused(hostname), []);
    return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
  });
};

function isOwn(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host === "localhost" || host.endsWith(".localhost");
  return own.check(host, family === 6 ? "ipv6" : "ipv4");
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "").toLowerCase();
}

function refused(hostname: string): ImageError {
  return new ImageError("unsupported", `the registry leads to ${hostname}, an address of this machine alone`);
}
