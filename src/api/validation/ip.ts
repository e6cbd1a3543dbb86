import { isIPv4, isIPv6 } from "node:net";

/** What is wrong with an IP address. Addresses that two programs could read in two ways are refused, as since 1.36. */
export function ipProblems(value: string): readonly string[] {
  if (isIPv4(value)) return [];
  if (/^[0-9]+(?:\.[0-9]+){3}$/.test(value) && isIPv4(value.replace(/\b0+(?=[0-9])/g, ""))) {
    return ["must not have leading 0s"];
  }
  if (!isIPv6(value) || value.includes("%")) {
    return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"];
  }
  return isMappedIPv4(value) ? ["must not be an IPv4-mapped IPv6 address"] : [];
}

/** The rules of newer fields: the canonical spelling and no other. */
export function canonicalIpProblems(value: string): readonly string[] {
  const problems = ipProblems(value);
  if (problems.length > 0 || isIPv4(value)) return problems;
  const canonical = canonicalIPv6(value);
  return value === canonical ? problems : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

export function cidrProblems(value: string): readonly string[] {
  const slash = value.lastIndexOf("/");
  const address = value.slice(0, slash);
  const length = value.slice(slash + 1);
  const max = isIPv6(address) ? 128 : 32;
  const known = slash > 0 && (isIPv4(address) || isIPv6(address));
  if (!known || !/^[0-9]{1,3}$/.test(length) || Number(length) > max) {
    return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"];
  }
  if (length.length > 1 && length.startsWith("0")) {
    return ["must not have leading 0s in IP or prefix length"];
  }
  if (isMappedIPv4(address)) return ["must not have an IPv4-mapped IPv6 address"];
  const beyond = BigInt(max - Number(length));
  if (toBits(address) & ((1n << beyond) - 1n)) return ["must not have bits set beyond the prefix length"];
  return [];
}

export type IpFamily = "IPv4" | "IPv6";

export function ipFamilyOf(address: string): IpFamily | undefined {
  if (isIPv4(address)) return "IPv4";
  return isIPv6(address) ? "IPv6" : undefined;
}

/** At most one address of each family. */
export function isDualStack(addresses: readonly string[]): boolean {
  const families = addresses.map(ipFamilyOf);
  return addresses.length === 2 && families.includes("IPv4") && families.includes("IPv6");
}

function isMappedIPv4(address: string): boolean {
  if (!isIPv6(address)) return false;
  const groups = groupsOf(address);
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

function toBits(address: string): bigint {
  if (isIPv4(address)) {
    return address.split(".").reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n);
  }
  return groupsOf(address).reduce((bits, group) => (bits << 16n) | BigInt(group), 0n);
}

/** The eight groups of an IPv6 address, with `::` and a dotted end written out. */
function groupsOf(address: string): number[] {
  const hex = address.replace(/[0-9]+(?:\.[0-9]+){3}$/, (dotted) => {
    const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = "", tail] = hex.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail ? tail.split(":") : [];
  const gap = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(gap).fill("0"), ...after].map((group) => Number.parseInt(group, 16));
}

/** RFC 5952: lower case, no leading zeros, the first of the longest runs of zeros as `::`. */
function canonicalIPv6(address: string): string {
  const groups = groupsOf(address);
  const text = groups.map((group) => group.toString(16));
  let run = { start: 0, length: 1 };
  for (let start = 0, length = 0; start < 8; start += length + 1, length = 0) {
    while (groups[start + length] === 0) length++;
    if (length > run.length) run = { start, length };
  }
  if (run.length < 2) return text.join(":");
  return `${text.slice(0, run.start).join(":")}::${text.slice(run.start + run.length).join(":")}`;
}
