import { isIPv4, isIPv6 } from "node:net";

const leadingZeros = "must not have leading 0s";

/** Problems of an IP address. Ambiguous addresses are invalid since 1.36. */
export function ipProblems(value: string): readonly string[] {
  if (isIPv4(value)) return [];
  if (/^[0-9]+(?:\.[0-9]+){3}$/.test(value) && isIPv4(value.replace(/\b0+(?=[0-9])/g, ""))) {
    return [leadingZeros];
  }
  if (!isIPv6(value) || value.includes("%")) {
    return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"];
  }
  return isMappedIPv4(value) ? ["must not be an IPv4-mapped IPv6 address"] : [];
}

/** Problems of an IP address in a newer field, which must have the canonical form. */
export function canonicalIpProblems(value: string): readonly string[] {
  const problems = ipProblems(value);
  if (problems.length > 0 || isIPv4(value)) return problems;
  const canonical = canonicalIPv6(value);
  return value === canonical ? problems : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/** Warnings about a valid IP address in an older field, which may have another form than the canonical one. */
export function ipWarnings(path: string, value: string): string[] {
  const canonical = isIPv6(value) ? canonicalIPv6(value) : value;
  if (value === canonical) return [];
  return [`${path}: IPv6 address "${value}" should be in RFC 5952 canonical format ("${canonical}")`];
}

/** As `ipWarnings`, for a range of addresses. */
export function cidrWarnings(path: string, value: string): string[] {
  const { address, length } = splitCidr(value);
  const canonical = isIPv6(address) ? `${canonicalIPv6(address)}/${length}` : value;
  if (value === canonical) return [];
  return [`${path}: IPv6 CIDR value "${value}" should be in RFC 5952 canonical format ("${canonical}")`];
}

export function cidrProblems(value: string): readonly string[] {
  const { address, length, max } = splitCidr(value);
  if (ipProblems(address)[0] === leadingZeros) return ["must not have leading 0s in IP or prefix length"];
  const digits = value.slice(address.length + 1);
  if (!ipFamilyOf(address) || !/^[0-9]{1,3}$/.test(digits) || length > max) {
    return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"];
  }
  if (digits.length > 1 && digits.startsWith("0")) {
    return ["must not have leading 0s in IP or prefix length"];
  }
  if (isMappedIPv4(address)) return ["must not have an IPv4-mapped IPv6 address"];
  const beyond = BigInt(max - length);
  if (addressBits(address) & ((1n << beyond) - 1n))
    return ["must not have bits set beyond the prefix length"];
  return [];
}

/** True if `part` is a smaller range inside `whole`. Both must be valid. */
export function isStrictSubset(part: string, whole: string): boolean {
  const [inner, outer] = [splitCidr(part), splitCidr(whole)];
  if (ipFamilyOf(inner.address) !== ipFamilyOf(outer.address) || inner.length <= outer.length) return false;
  const beyond = BigInt(outer.max - outer.length);
  return addressBits(inner.address) >> beyond === addressBits(outer.address) >> beyond;
}

export function splitCidr(value: string): { address: string; length: number; max: number } {
  const slash = value.lastIndexOf("/");
  const address = value.slice(0, slash);
  return { address, length: Number(value.slice(slash + 1)), max: isIPv6(address) ? 128 : 32 };
}

export type IpFamily = "IPv4" | "IPv6";

export function ipFamilyOf(address: string): IpFamily | undefined {
  if (isIPv4(address)) return "IPv4";
  return isIPv6(address) ? "IPv6" : undefined;
}

/** Whether the addresses are of different families. */
export function isDualStack(addresses: readonly string[]): boolean {
  const families = addresses.map(ipFamilyOf);
  return addresses.length === 2 && families.includes("IPv4") && families.includes("IPv6");
}

function isMappedIPv4(address: string): boolean {
  if (!isIPv6(address)) return false;
  const groups = groupsOf(address);
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

/** The address as a number of 32 or 128 bits. It must be valid. */
export function addressBits(address: string): bigint {
  if (isIPv4(address)) {
    return address.split(".").reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n);
  }
  return groupsOf(address).reduce((bits, group) => (bits << 16n) | BigInt(group), 0n);
}

/** Returns the eight groups of an IPv6 address, with `::` and a dotted IPv4 part expanded. */
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

/** Formats an IPv6 address by RFC 5952: lower case, no leading zeros, `::` for the first longest run of zeros. */
export function canonicalIPv6(address: string): string {
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
