import { readdir } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { findProgram } from "../drivers/find-program.ts";
import { createBridgeNetwork } from "./bridge/bridge-network.ts";
import { createDefaultCni, loadCniConfig } from "./cni/cni-config.ts";
import { createCniNetwork } from "./cni/cni-network.ts";
import type { Network } from "./network.ts";

export interface NetworkOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly cniConfDir?: string;
  readonly cniBinDirs?: readonly string[];
  /** Network to use. Defaults to one chosen by what the machine has. */
  readonly wanted?: Network["name"];
  /** Name of the built-in bridge. */
  readonly bridge?: string;
  readonly subnet?: string;
  readonly pluginTimeoutMs?: number;
}

/** Chooses the network for pods. `reason` is a sentence that explains the choice. */
export async function chooseNetwork(options: NetworkOptions): Promise<{ network: Network; reason: string }> {
  const { dataDir, logger, cniConfDir = "/etc/cni/net.d", wanted } = options;
  const binDirs = options.cniBinDirs ?? ["/usr/lib/cni", "/opt/cni/bin"];
  const [name, reason] = wanted
    ? [wanted, `the network is ${wanted} because it was requested`]
    : decideNetwork(await observe({ dataDir, cniConfDir, binDirs }));
  logger.info(reason, { network: name });
  const directory = networkDirectory(dataDir, name);
  switch (name) {
    case "cni": {
      const own = createDefaultCni({ directory, bridge: options.bridge, subnet: options.subnet });
      const network = createCniNetwork({
        directory,
        logger,
        binDirs,
        loadConfig: async () => (await loadCniConfig(cniConfDir)) ?? own.config(),
        previewConfig: async () => (await loadCniConfig(cniConfDir)) ?? own.outline(),
        removeShared: own.remove,
        pluginTimeoutMs: options.pluginTimeoutMs,
      });
      return { network, reason };
    }
    case "bridge": {
      const { bridge, subnet, clock = systemClock } = options;
      return { network: await createBridgeNetwork({ directory, clock, logger, bridge, subnet }), reason };
    }
    case "host":
      return { network: createHostNetwork(), reason };
  }
}

export interface NetworkFacts {
  /** Network that pods of an earlier daemon are attached to; only it can release them. */
  readonly inUse: Network["name"] | undefined;
  readonly cniConfig: "present" | "missing";
  readonly cniConfDir: string;
  readonly hasCniPlugins: boolean;
  readonly hasIproute: boolean;
}

/**
 * Decides on a network. CNI is used only when configured: with plugins but no configuration, the built-in bridge gives
 * the same result without running some ten programs per pod (masquerading alone takes eight calls of iptables).
 */
export function decideNetwork(facts: NetworkFacts): [Network["name"], string] {
  const { cniConfDir, hasCniPlugins, hasIproute, inUse } = facts;
  if (inUse) return [inUse, `the network stays ${inUse}: pods of an earlier run are attached to it`];
  if (hasCniPlugins && facts.cniConfig === "present")
    return ["cni", `the network is cni: there are plugins and a configuration in ${cniConfDir}`];
  const noCni = hasCniPlugins ? `is no CNI configuration in ${cniConfDir}` : "are no CNI plugins";
  if (hasIproute) return ["bridge", `the network is the built-in bridge: there ${noCni}`];
  return ["host", `the network is the host's: there ${noCni}, and no iproute2`];
}

async function observe(options: {
  dataDir: string;
  cniConfDir: string;
  binDirs: readonly string[];
}): Promise<NetworkFacts> {
  const { dataDir, cniConfDir, binDirs } = options;
  // A broken configuration counts, so that its problem is reported and not hidden by another network.
  const config = await loadCniConfig(cniConfDir).catch(() => "broken" as const);
  const plugins = await Promise.all(binDirs.map((directory) => readdir(directory).catch(() => [])));
  const used = await Promise.all(
    (["cni", "bridge"] as const).map(async (name) => {
      const pods = await readdir(join(networkDirectory(dataDir, name), "pods")).catch(() => []);
      return pods.length > 0 ? [name] : [];
    }),
  );
  return {
    inUse: used.flat()[0],
    cniConfig: config ? "present" : "missing",
    cniConfDir,
    hasCniPlugins: plugins.flat().length > 0,
    hasIproute: ["ip", "unshare", "nsenter"].every((tool) => findProgram(tool)),
  };
}

function networkDirectory(dataDir: string, name: Network["name"]): string {
  return join(dataDir, "network", name);
}

/** Network in which pods share the host's network: nothing is created or released. */
function createHostNetwork(): Network {
  return {
    name: "host",
    limitations: ["pods share the host's network: one address and one set of ports for all"],
    problem: async () => undefined,
    attach: async () => ({ namespacePath: "host", addresses: [hostAddress()] }),
    check: async () => {},
    detach: async () => {},
    list: async () => [],
    prepare: async () => undefined,
    close: async () => {},
  };
}

/** First address of the host that other machines can reach. */
function hostAddress(): string {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  const address = addresses.find(({ family }) => family === "IPv4") ?? addresses[0];
  return address?.address ?? "127.0.0.1";
}
