/** Addresses of pods: one block of IPv4, each given to one pod at a time. */
export interface AddressPool {
  /** Undefined when all are taken. */
  take(): string | undefined;
  release(address: string): void;
  /** From here on out of another block; what is taken stays taken. */
  move(cidr: string): void;
  taken(): number;
}

export function createAddressPool(cidr: string): AddressPool {
  let block = parseBlock(cidr);
  // Goes round: an address rests before it is used again.
  let next = 0;
  const taken = new Set<string>();
  return {
    take() {
      // Not the block's own address, the gateway's or the broadcast address.
      const usable = block.size - 3;
      for (let tries = 0; tries < usable; tries++) {
        const address = formatAddress(block.base + 2 + (next++ % usable));
        if (taken.has(address)) continue;
        taken.add(address);
        return address;
      }
      return undefined;
    },
    release: (address) => void taken.delete(address),
    move(other) {
      const moved = parseBlock(other);
      if (moved.base === block.base && moved.size === block.size) return;
      block = moved;
      next = 0;
    },
    taken: () => taken.size,
  };
}

function parseBlock(cidr: string): { base: number; size: number } {
  const [, address = "", bits = ""] = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr) ?? [];
  const parts = address.split(".").map(Number);
  const prefix = Number(bits);
  if (parts.length !== 4 || parts.some((part) => part > 255) || prefix < 1 || prefix > 29)
    throw new RangeError(`${cidr} is no block for pods: write it like 10.244.0.0/16, at most /29`);
  const size = 2 ** (32 - prefix);
  const number = parts.reduce((sum, part) => sum * 256 + part, 0);
  return { base: number - (number % size), size };
}

function formatAddress(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}
