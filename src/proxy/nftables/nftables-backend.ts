import { writeFile } from "node:fs/promises";
import type { Logger } from "../../lib/logger.ts";
import { nft, runNft } from "../../lib/nftables/run-nft.ts";
import type { ProxyBackend, ProxyState } from "../model/backend.ts";
import type { ServicePort } from "../model/service-port.ts";
import { conntrackProblem, deleteFlows, findStaleFlows } from "./conntrack.ts";
import type { TableOptions } from "./render-table.ts";
import { createTableState, type TableState } from "./table-state.ts";

export interface NftablesOptions
  extends Pick<
    TableOptions,
    "table" | "podInterface" | "gateway" | "nodePortAddresses" | "exposedAddresses"
  > {
  /** Range of cluster IPs of IPv4. Undefined: not known. */
  readonly serviceSubnet?: string;
  /** Subnets of pods, one for each family. Undefined: not known. */
  readonly podSubnets?: { readonly ip?: string; readonly ip6?: string };
  readonly masqueradeAll?: boolean;
  readonly logger: Logger;
}

const families = ["ip", "ip6"] as const;
type Family = (typeof families)[number];

/** Directs connections to services with packet rules of the kernel, in one table for each IP family. */
export async function createNftablesBackend(options: NftablesOptions): Promise<ProxyBackend> {
  const { table, logger } = options;
  const noConntrack = await conntrackProblem();
  const tableOf = (family: Family): TableState => {
    const isFamily = (address: string) => address.includes(":") === (family === "ip6");
    return createTableState({
      family,
      table,
      podInterface: options.podInterface,
      gateway: options.gateway,
      podSubnet: options.podSubnets?.[family],
      serviceSubnet: family === "ip" ? options.serviceSubnet : undefined,
      masqueradeAll: options.masqueradeAll ?? false,
      nodePortAddresses: options.nodePortAddresses.filter(isFamily),
      exposedAddresses: options.exposedAddresses.filter(isFamily),
    });
  };
  /** Tables that exist. The table of IPv6 is created with the first service that has an IPv6 address. */
  const tables = new Map<Family, TableState>();
  const applied = new Map<string, readonly ServicePort[]>();

  async function sync(state: ProxyState, changed: ReadonlySet<string> | undefined): Promise<void> {
    const services = changed ?? new Set([...applied.keys(), ...state.keys()]);
    const needed = families.filter(
      (family) => family === "ip" || tables.has(family) || hasFamily(services, state, family),
    );
    const updates = needed.map((family) => {
      const known = tables.get(family);
      const target = known ?? tableOf(family);
      const update = changed && known ? target.change(changed, state) : target.replace(state);
      return { family, target, update };
    });
    await runNft(updates.flatMap(({ update }) => update.commands));
    // After the first sync, whose rules protect the node's loopback from pods.
    if (options.podInterface && tables.size === 0) await setLocalnetRouting(options.podInterface, "1");
    for (const { family, target, update } of updates) {
      update.commit();
      tables.set(family, target);
    }
    const stale = [...services].flatMap((service) =>
      findStaleFlows(applied.get(service) ?? [], state.get(service) ?? []),
    );
    for (const service of services) {
      const ports = state.get(service);
      if (ports) applied.set(service, ports);
      else applied.delete(service);
    }
    if (noConntrack) return;
    await deleteFlows(stale).catch((error) =>
      logger.warn("cannot remove entries of former UDP endpoints from the connection table", { error }),
    );
  }

  return {
    name: "nftables",
    limitations: noConntrack
      ? [
          `UDP clients may reach former endpoints for up to two minutes: conntrack does not work (${noConntrack})`,
        ]
      : [],
    sync: (state, changed) =>
      sync(state, changed).catch((error) => {
        tables.clear();
        throw error;
      }),
    async isIntact() {
      for (const family of tables.keys()) {
        const { exitCode } = await nft(["list", "chain", family, table, "services"]);
        if (exitCode !== 0) return false;
      }
      return true;
    },
    async remove() {
      if (options.podInterface) await setLocalnetRouting(options.podInterface, "0");
      await removeTables(table);
    },
    close: async () => {},
  };
}

/** Allows connections from 127.0.0.1 to be sent to pods, for node ports at that address. */
async function setLocalnetRouting(name: string, value: "0" | "1"): Promise<void> {
  await writeFile(`/proc/sys/net/ipv4/conf/${name}/route_localnet`, value).catch((error) => {
    // The interface is removed with its last pod.
    if (error.code !== "ENOENT") throw error;
  });
}

function hasFamily(services: ReadonlySet<string>, state: ProxyState, family: Family): boolean {
  const name = family === "ip" ? "IPv4" : "IPv6";
  for (const service of services) if (state.get(service)?.some((port) => port.family === name)) return true;
  return false;
}

/** Removes the tables of a proxy, also those of an earlier process. */
export async function removeTables(table: string): Promise<void> {
  await runNft(
    families.flatMap((family) => [`add table ${family} ${table}`, `delete table ${family} ${table}`]),
  );
}

/** Returns why nftables cannot be used; undefined when it can. */
export async function nftablesProblem(): Promise<string | undefined> {
  const table = `kindling-check-${process.pid}`;
  // Everything the backend depends on. `--check` evaluates the commands in the kernel without applying them.
  const commands = [
    `add table ip ${table}`,
    `add map ip ${table} m { typeof meta l4proto . th dport . numgen random mod 2 : ip daddr . th dport; }`,
    `add chain ip ${table} c { type nat hook prerouting priority -100; }`,
    `add rule ip ${table} c meta l4proto { tcp, udp, sctp } dnat ip to meta l4proto . th dport . numgen random mod 2 map @m`,
    `add chain ip ${table} f { type filter hook prerouting priority -110; }`,
    `add rule ip ${table} f ct state new fib saddr type local reject`,
    `add chain ip ${table} p { type nat hook postrouting priority 100; }`,
    `add rule ip ${table} p masquerade fully-random`,
  ];
  const { exitCode, output } = await nft(["--check", "--file", "-"], `${commands.join("\n")}\n`);
  return exitCode === 0 ? undefined : (output.split("\n", 1)[0] ?? "") || `nft failed with ${exitCode}`;
}
