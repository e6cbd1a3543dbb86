import { mkdir, readdir, readlink, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { NetworkError } from "../network-error.ts";
import { formatAddress, type Subnet, subnetSize } from "./ipv4.ts";

/** Who has which address, on disk. */
export interface AddressPool {
  /** A pod that has one keeps it. */
  allocate(podId: string, subnet: Subnet): Promise<string>;
  release(podId: string): Promise<void>;
  podIds(): Promise<readonly string[]>;
}

/**
 * One symbolic link per address, pointing at the pod's id: made with its content in one step, and by one only. So
 * neither a kill nor a second daemon gives one address to two pods or leaves one that nobody is known to hold.
 */
export function createAddressPool(directory: string): AddressPool {
  // Goes round, and not from where an earlier daemon began: an address rests before it is used again.
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
      // The subnet's own address, the gateway's and the broadcast address are no pod's.
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
