import { mkdir, readdir, readlink, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { NetworkError } from "../network.ts";

/** IPv4 subnet; `base` is its first address, with the host part zero. */
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

function subnetSize({ prefixLength }: Subnet): number {
  return 2 ** (32 - prefixLength);
}

export function subnetsOverlap(a: Subnet, b: Subnet): boolean {
  return a.base < b.base + subnetSize(b) && b.base < a.base + subnetSize(a);
}

function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

export function parseAddress(text: string): number | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined;
  const bytes = text.split(".").map(Number);
  if (bytes.some((byte) => byte > 255)) return undefined;
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}

/** Address of the bridge and gateway of its pods: the first of the subnet. */
export function gatewayOf(subnet: Subnet): string {
  return formatAddress(subnet.base + 1);
}

/** MAC address derived from the IP address, so that ARP caches stay correct when the address is reused. */
export function macOf(address: string): string {
  const bytes = address.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
  return ["02", "4b", ...bytes].join(":");
}

/** Addresses and their pods, on disk. */
export interface AddressPool {
  /** Allocates an address. Returns the existing one if the pod has one. */
  allocate(podId: string, subnet: Subnet): Promise<string>;
  release(podId: string): Promise<void>;
  podIds(): Promise<readonly string[]>;
}

/**
 * Creates a pool with one symbolic link per address, which points at the pod's ID. A link is created atomically with
 * its content, so neither a kill nor a second daemon gives an address to two pods or leaks one.
 */
export function createAddressPool(directory: string): AddressPool {
  // Round robin from a random start, so that an address is not reused at once.
  let next = Math.floor(Math.random() * 65_536);

  async function holders(): Promise<[address: string, podId: string][]> {
    const addresses = await readdir(directory).catch(() => []);
    const podIds = await Promise.all(
      addresses.map((name) => readlink(join(directory, name)).catch(() => "")),
    );
    return addresses.map((address, i) => [address, podIds[i] ?? ""]);
  }

  return {
    async allocate(podId, subnet) {
      // Excludes the subnet's own address, the gateway and the broadcast address.
      const first = 2;
      const usable = subnetSize(subnet) - first - 1;
      await mkdir(directory, { recursive: true });
      const taken = await holders();
      const own = taken.find(([, holder]) => holder === podId);
      if (own) return own[0];
      const takenAddresses = new Set(taken.map(([address]) => address));
      for (let tries = 0; tries < usable; tries++) {
        const address = formatAddress(subnet.base + first + (next++ % usable));
        if (takenAddresses.has(address)) continue;
        try {
          await symlink(podId, join(directory, address));
          return address;
        } catch (error) {
          if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
        }
      }
      throw new NetworkError("noAddress", `all ${usable} addresses for pods are in use`);
    },
    async release(podId) {
      const own = (await holders()).filter(([, holder]) => holder === podId);
      await Promise.all(own.map(([address]) => rm(join(directory, address), { force: true })));
    },
    async podIds() {
      return (await holders()).map(([, podId]) => podId).filter(Boolean);
    },
  };
}
