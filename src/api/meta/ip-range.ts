import {
  addressBits,
  canonicalIPv6,
  cidrProblems,
  type IpFamily,
  ipFamilyOf,
  splitCidr,
} from "./validate-ip.ts";

/** Range of addresses as numbers, including both ends. */
export interface IpRange {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
}

/** Parses `10.0.0.0/8` or `fd00::/64`. Undefined if it is not valid. */
export function parseIpRange(cidr: string): IpRange | undefined {
  const { address, length, max } = splitCidr(cidr);
  const family = ipFamilyOf(address);
  if (!family || cidrProblems(cidr).length > 0) return undefined;
  const first = addressBits(address);
  return { family, first, last: first | ((1n << BigInt(max - length)) - 1n) };
}

/** Canonical text of the address with this number. */
export function formatIp(number: bigint, family: IpFamily): string {
  const groups = (count: number, bits: bigint) =>
    Array.from({ length: count }, (_, i) => (number >> (bits * BigInt(count - 1 - i))) & ((1n << bits) - 1n));
  if (family === "IPv4") return groups(4, 8n).join(".");
  return canonicalIPv6(
    groups(8, 16n)
      .map((group) => group.toString(16))
      .join(":"),
  );
}

/** Interval of numbers, including both ends. */
export type Interval = Pick<IpRange, "first" | "last">;

/** Sorts intervals and merges those that overlap or adjoin. */
export function mergeIntervals(intervals: readonly Interval[]): Interval[] {
  const merged: { first: bigint; last: bigint }[] = [];
  for (const { first, last } of [...intervals].sort((a, b) => (a.first < b.first ? -1 : 1))) {
    const previous = merged.at(-1);
    if (!previous || first > previous.last + 1n) merged.push({ first, last });
    else if (last > previous.last) previous.last = last;
  }
  return merged;
}

/** Returns the parts of an interval that no excluded interval contains. */
export function subtractIntervals(whole: Interval, excluded: readonly Interval[]): Interval[] {
  const parts: Interval[] = [];
  let next = whole.first;
  for (const { first, last } of mergeIntervals(excluded)) {
    if (first > whole.last) break;
    if (first > next) parts.push({ first: next, last: first - 1n });
    if (last >= next) next = last + 1n;
  }
  if (next <= whole.last) parts.push({ first: next, last: whole.last });
  return parts;
}
