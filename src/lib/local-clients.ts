import { networkInterfaces } from "node:os";
import type { Clock } from "./clock.ts";
import { createRangeCheck } from "./ip-ranges.ts";

/** How long the addresses of this machine are assumed to be unchanged. */
const rereadAfterMs = 1_000;
/** Maximum number of pod addresses that are remembered. */
const maxKnownPods = 10_000;

/** Returns a check that accepts clients with an address of this machine or of its pods. */
export function createLocalClientCheck(options: {
  /** Subnets of the pods. */
  readonly podSubnets: readonly string[];
  readonly clock: Pick<Clock, "now">;
  /** Reads the addresses of this machine. */
  readonly readAddresses?: () => readonly string[];
}): (client: string) => boolean {
  const { clock, readAddresses = addressesOfMachine } = options;
  const isPod = createRangeCheck(options.podSubnets);
  const knownPods = new Set<string>();
  let own = new Set<string>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  return (client) => {
    // A lookup in the ranges would cost more than the rest of a DNS response.
    if (knownPods.has(client) || own.has(client)) return true;
    if (isPod(client)) {
      if (knownPods.size >= maxKnownPods) knownPods.clear();
      knownPods.add(client);
      return true;
    }
    if (clock.now() - readAtMs < rereadAfterMs) return false;
    readAtMs = clock.now();
    // Another machine can have the same link-local address on another link.
    own = new Set(readAddresses().filter((address) => !address.startsWith("fe80:")));
    return own.has(client);
  };
}

function addressesOfMachine(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
