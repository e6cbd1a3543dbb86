import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { removePolicyTables } from "../../network-policy/nftables/policy-tables.ts";
import { nftablesProblem, removeTables } from "../../proxy/nftables/nftables-backend.ts";
import { removeRecordedAddresses } from "../../proxy/userspace/service-addresses.ts";
import { dataDirPaths } from "../data-dir/data-dir-files.ts";

/** Name of the packet tables of a cluster's services: each data directory has its own. */
export function serviceTable(dataDir: string): string {
  return `kindling-${createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 12)}`;
}

/** Name of the packet tables of a cluster's network policies. */
export function policyTable(dataDir: string): string {
  return `${serviceTable(dataDir)}-policy`;
}

/** Removes the service addresses and the packet tables of services and network policies that the node of a stopped cluster left. */
export async function removeServiceRules(dataDir: string): Promise<void> {
  await removeRecordedAddresses(dataDirPaths(dataDir).serviceAddresses);
  // A machine without nftables, or a user without the right to use it, has created none.
  if (await nftablesProblem()) return;
  await Promise.all([removeTables(serviceTable(dataDir)), removePolicyTables(policyTable(dataDir))]);
}
