import { networkInterfaces } from "node:os";
import { cidrProblems } from "../../api/meta/validate-ip.ts";
import { createRangeCheck } from "../../lib/ip-ranges.ts";

/** Parses a comma-separated list of CIDRs. Throws for invalid ones. */
export function parseNodePortRanges(text: string): readonly string[] {
  const ranges = text.split(",").map((range) => range.trim());
  for (const range of ranges)
    if (cidrProblems(range).length > 0)
      throw new Error(`${JSON.stringify(range)} is not a CIDR such as 192.0.2.0/24`);
  return ranges;
}

/** Addresses of this machine that are in one of the ranges. Link-local addresses are never used. */
export function addressesInRanges(
  ranges: readonly string[],
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string[] {
  return Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter(createRangeCheck(ranges))
    .filter((address) => !address.startsWith("fe80:") && !address.startsWith("169.254."));
}
