import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

// Test files run beside each other on one machine: each worker takes ports and addresses from its own share. A
// look at the machine alone would not do, as host ports of pods are rules that no socket shows.

const shares = 4;
const share = Number(process.env.VITEST_POOL_ID ?? 0) % shares;
const firstPort = 20_000;
const portsPerShare = 3_000;
const taken = new Set<number>();

/** A free port below the ephemeral range, so that it is still free for a restart. */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = firstPort + share * portsPerShare + randomInt(portsPerShare);
    if (taken.has(port)) continue;
    const probe = createServer().listen(port);
    try {
      await once(probe, "listening");
    } catch {
      continue;
    }
    taken.add(port);
    probe.close();
    await once(probe, "close");
    return port;
  }
}

/** The first of 190 ports in a row, behind the single ones of all shares. */
export function ownPortRow(): number {
  return firstPort + shares * portsPerShare + share * 190;
}

/** The first three numbers of the addresses of a network, `10.32.7`: below the defaults of clusters. */
export function ownRange(): string {
  return `10.${20 + share * 12 + randomInt(12)}.${randomInt(256)}`;
}
