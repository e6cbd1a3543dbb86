import { NetworkError } from "../network-error.ts";

/** A range of IPv4 addresses; `base` is its first, with the host part zero. */
export interface Subnet {
  readonly base: number;
  readonly prefixLength: number;
}

export function parseSubnet(text: string): Subnet {
  const [address = "", length = "32"] = text.split("/");
  const prefixLength = Number(length);
  const value = parseAddress(address);
  if (value === undefined || !Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > 32)
    throw new NetworkError("invalid", `${JSON.stringify(text)} is not an IPv4 subnet`);
  return { base: value - (value % 2 ** (32 - prefixLength)), prefixLength };
}

export function formatSubnet({ base, prefixLength }: Subnet): string {
  return `${formatAddress(base)}/${prefixLength}`;
}

export function subnetSize({ prefixLength }: Subnet): number {
  return 2 ** (32 - prefixLength);
}

export function subnetsOverlap(a: Subnet, b: Subnet): boolean {
  return a.base < b.base + subnetSize(b) && b.base < a.base + subnetSize(a);
}

export function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

export function parseAddress(text: string): number | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined;
  const bytes = text.split(".").map(Number);
  if (bytes.some((byte) => byte > 255)) return undefined;
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}

/** The bridge's own address, which is its pods' gateway: the first of the subnet. */
export function gatewayOf(subnet: Subnet): string {
  return formatAddress(subnet.base + 1);
}

/** A MAC address that follows from the IP address: whoever remembers it stays right when the address is used again. */
export function macOf(address: string): string {
  const bytes = address.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
  return ["02", "4b", ...bytes].join(":");
}
