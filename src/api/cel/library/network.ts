import { isIPv4, isIPv6 } from "node:net";
import { addressBits, canonicalIPv6 } from "../../meta/validate-ip.ts";
import { type FunctionDeclaration, fn, type Implementation, member, nameType } from "../functions.ts";
import { opaqueType } from "../type.ts";
import { CelError, CelObject, type Value } from "../values.ts";

export const ipType = nameType("ip", opaqueType("net.IP"));
export const cidrType = nameType("cidr", opaqueType("net.CIDR"));

class Ip extends CelObject {
  readonly type = ipType;
  readonly text: string;
  readonly bits: bigint;
  readonly family: 4 | 6;
  override readonly sizeForCost: number;

  constructor(text: string) {
    super();
    this.family = isIPv4(text) ? 4 : 6;
    this.text = this.family === 4 ? text : canonicalIPv6(text);
    this.bits = addressBits(text);
    this.sizeForCost = this.family === 4 ? 4 : 16;
  }

  equals(other: CelObject): boolean {
    return other instanceof Ip && other.text === this.text;
  }
}

class Cidr extends CelObject {
  readonly type = cidrType;
  readonly ip: Ip;
  readonly length: number;
  override readonly sizeForCost: number;

  constructor(ip: Ip, length: number) {
    super();
    this.ip = ip;
    this.length = length;
    this.sizeForCost = Math.ceil(length / 8);
  }

  get text(): string {
    return `${this.ip.text}/${this.length}`;
  }

  equals(other: CelObject): boolean {
    return other instanceof Cidr && other.text === this.text;
  }

  /** Bits of an address that belong to a prefix of a length. */
  prefixOf(ip: Ip, length: number): bigint {
    return ip.bits >> BigInt((ip.family === 4 ? 32 : 128) - length);
  }

  contains(ip: Ip): boolean {
    return (
      ip.family === this.ip.family && this.prefixOf(ip, this.length) === this.prefixOf(this.ip, this.length)
    );
  }
}

const quote = (text: string) => JSON.stringify(text);

/** Problem of an address in the words of Go's netip. */
function addressProblem(text: string): string | undefined {
  if (isIPv4(text) || isIPv6(text)) return undefined;
  const fail = (detail: string) => `ParseAddr(${quote(text)}): ${detail}`;
  if (text.includes(":") || !text.includes(".")) {
    return fail(
      text.includes(":") ? "each colon-separated field must have at least one digit" : "unable to parse IP",
    );
  }
  const fields = text.split(".");
  if (!/^[\d.]+$/.test(text)) return fail("unexpected character");
  if (fields.some((field) => field === "")) return fail("IPv4 field must have at least one digit");
  if (fields.some((field) => field.length > 1 && field.startsWith("0")))
    return fail("IPv4 field has octet with leading zero");
  if (fields.some((field) => Number(field) > 255)) return fail("IPv4 field has value >255");
  return fail(fields.length < 4 ? "IPv4 address too short" : "IPv4 address too long");
}

function isMapped(text: string): boolean {
  return isIPv6(text) && addressBits(text) >> 32n === 0xffffn;
}

function parseIp(text: string): Ip | CelError {
  const problem = addressProblem(text);
  if (problem)
    return new CelError(`IP Address ${quote(text)} parse error during conversion from string: ${problem}`);
  if (text.includes("%")) return new CelError(`IP address ${quote(text)} with zone value is not allowed`);
  if (isMapped(text)) return new CelError(`IPv4-mapped IPv6 address ${quote(text)} is not allowed`);
  return new Ip(text);
}

function parseCidr(text: string): Cidr | CelError {
  const prefix = "network address parse error during conversion from string: ";
  const fail = (detail: string) =>
    new CelError(`${prefix}${prefix}netip.ParsePrefix(${quote(text)}): ${detail}`);
  const slash = text.lastIndexOf("/");
  if (slash < 0) return fail("no '/'");
  const [address, digits] = [text.slice(0, slash), text.slice(slash + 1)];
  const problem = addressProblem(address);
  if (problem) return fail(problem);
  if (address.includes("%")) return fail("IPv6 zones cannot be present in a prefix");
  if (!/^(?:0|[1-9]\d*)$/.test(digits)) return fail(`bad bits after slash: ${quote(digits)}`);
  const length = Number(digits);
  if (length > (isIPv4(address) ? 32 : 128)) return fail("prefix length out of range");
  if (isMapped(address))
    return new CelError(`${prefix}IPv4-mapped IPv6 address ${quote(text)} is not allowed`);
  return new Cidr(new Ip(address), length);
}

function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return outer.length <= inner.length && outer.contains(inner.ip);
}

function masked(cidr: Cidr): Cidr {
  const bits = cidr.ip.family === 4 ? 32 : 128;
  const kept = cidr.prefixOf(cidr.ip, cidr.length) << BigInt(bits - cidr.length);
  const groups = cidr.ip.family === 4 ? 4 : 8;
  const width = bits / groups;
  const parts = Array.from(
    { length: groups },
    (_, i) => (kept >> BigInt(bits - width * (i + 1))) & ((1n << BigInt(width)) - 1n),
  );
  const text = cidr.ip.family === 4 ? parts.join(".") : parts.map((part) => part.toString(16)).join(":");
  return new Cidr(new Ip(text), cidr.length);
}

const ofText =
  (compute: (text: string) => Value): Implementation =>
  ([text]) =>
    compute(text as string);
const ofIp =
  (compute: (ip: Ip) => Value): Implementation =>
  ([ip]) =>
    compute(ip as Ip);
const ofCidr =
  (compute: (cidr: Cidr) => Value): Implementation =>
  ([cidr]) =>
    compute(cidr as Cidr);

function inRange(ip: Ip, range4: string | undefined, range6: string): boolean {
  const range = ip.family === 4 ? range4 : range6;
  const cidr = range === undefined ? undefined : parseCidr(range);
  return cidr instanceof Cidr && cidr.contains(ip);
}

const isUnspecified = (ip: Ip) => ip.bits === 0n;
const isLoopback = (ip: Ip) => inRange(ip, "127.0.0.0/8", "::1/128");
const isLinkLocal = (ip: Ip) => inRange(ip, "169.254.0.0/16", "fe80::/10");
const isMulticast = (ip: Ip) => inRange(ip, "224.0.0.0/4", "ff00::/8");

function isGlobalUnicast(ip: Ip): boolean {
  if (ip.family === 4 && ip.text === "255.255.255.255") return false;
  return !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocal(ip);
}

/** Kubernetes' functions for IP addresses and ranges. */
export const networkFunctions: readonly FunctionDeclaration[] = [
  fn("ip", ["string_to_ip", "string -> ip", ofText(parseIp)]),
  member("ip", ["cidr_ip", "cidr -> ip", ofCidr(({ ip }) => ip)]),
  fn("isIP", ["is_ip", "string -> bool", ofText((text) => parseIp(text) instanceof Ip)]),
  fn("ip.isCanonical", [
    "ip_is_canonical",
    "string -> bool",
    ofText((text) => {
      const ip = parseIp(text);
      return ip instanceof Ip ? ip.text === text : ip;
    }),
  ]),
  member("family", ["ip_family", "ip -> int", ofIp(({ family }) => BigInt(family))]),
  member("isUnspecified", ["ip_is_unspecified", "ip -> bool", ofIp(isUnspecified)]),
  member("isLoopback", ["ip_is_loopback", "ip -> bool", ofIp(isLoopback)]),
  member("isLinkLocalMulticast", [
    "ip_is_link_local_multicast",
    "ip -> bool",
    ofIp((ip) =>
      ip.family === 4 ? inRange(ip, "224.0.0.0/24", "") : ((ip.bits >> 112n) & 0xff0fn) === 0xff02n,
    ),
  ]),
  member("isLinkLocalUnicast", ["ip_is_link_local_unicast", "ip -> bool", ofIp(isLinkLocal)]),
  member("isGlobalUnicast", ["ip_is_global_unicast", "ip -> bool", ofIp(isGlobalUnicast)]),
  fn(
    "string",
    ["ip_to_string", "ip -> string", ofIp(({ text }) => text)],
    ["cidr_to_string", "cidr -> string", ofCidr(({ text }) => text)],
  ),
  fn("cidr", ["string_to_cidr", "string -> cidr", ofText(parseCidr)]),
  fn("isCIDR", ["is_cidr", "string -> bool", ofText((text) => parseCidr(text) instanceof Cidr)]),
  member(
    "containsIP",
    [
      "cidr_contains_ip_string",
      "cidr, string -> bool",
      ([cidr, text]) => {
        const ip = parseIp(text as string);
        return ip instanceof Ip ? (cidr as Cidr).contains(ip) : ip;
      },
    ],
    ["cidr_contains_ip_ip", "cidr, ip -> bool", ([cidr, ip]) => (cidr as Cidr).contains(ip as Ip)],
  ),
  member(
    "containsCIDR",
    [
      "cidr_contains_cidr_string",
      "cidr, string -> bool",
      ([cidr, text]) => {
        const other = parseCidr(text as string);
        return other instanceof Cidr ? containsCidr(cidr as Cidr, other) : other;
      },
    ],
    [
      "cidr_contains_cidr",
      "cidr, cidr -> bool",
      ([cidr, other]) => containsCidr(cidr as Cidr, other as Cidr),
    ],
  ),
  member("prefixLength", ["cidr_prefix_length", "cidr -> int", ofCidr(({ length }) => BigInt(length))]),
  member("masked", ["cidr_masked", "cidr -> cidr", ofCidr(masked)]),
];
