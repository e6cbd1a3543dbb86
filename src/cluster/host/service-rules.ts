import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { nftablesProblem, removeTables } from "../../proxy/nftables/nftables-backend.ts";

/** Name of the packet tables of a cluster's services: each data directory has its own. */
export function serviceTable(dataDir: string): string {
  return `kindling-${createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 12)}`;
}

/** Removes the packet tables that the service proxy of a stopped cluster left. */
export async function removeServiceRules(dataDir: string): Promise<void> {
  // A machine without nftables, or a user without the right to use it, has created none.
  if (await nftablesProblem()) return;
  await removeTables(serviceTable(dataDir));
}
