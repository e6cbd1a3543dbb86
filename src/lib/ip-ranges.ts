import { BlockList, isIPv6 } from "node:net";

/** Returns a check whether an address is in one of the ranges, which are valid CIDRs. */
export function createRangeCheck(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [base = "", length] = range.split("/");
    list.addSubnet(base, Number(length), familyOf(base));
  }
  return (address) => list.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
