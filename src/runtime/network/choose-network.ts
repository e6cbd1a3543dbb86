import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { findProgram } from "../driver/find-program.ts";
import { createBridgeNetwork } from "./bridge/bridge-network.ts";
import { createCniNetwork } from "./cni/cni-network.ts";
import { createDefaultCni } from "./cni/default-cni.ts";
import { loadCniConfig } from "./cni/load-cni-config.ts";
import { createHostNetwork } from "./host-network.ts";
import type { Network } from "./network.ts";

export interface NetworkOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly cniConfDir?: string;
  readonly cniBinDirs?: readonly string[];
  /** Chosen by what the machine has, unless told. */
  readonly wanted?: Network["name"];
  /** For the bridge of our own. */
  readonly bridge?: string;
  readonly subnet?: string;
  readonly pluginTimeoutMs?: number;
}

/** The network for pods, and a sentence that says why this one. */
export async function chooseNetwork(options: NetworkOptions): Promise<{ network: Network; reason: string }> {
  const { dataDir, logger, cniConfDir = "/etc/cni/net.d", wanted } = options;
  const binDirs = options.cniBinDirs ?? ["/usr/lib/cni", "/opt/cni/bin"];
  const [name, reason] = wanted
    ? [wanted, `the network is ${wanted} because it was asked for`]
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
  /** The network that pods of an earlier daemon are attached to: only it can release them. */
  readonly inUse: Network["name"] | undefined;
  readonly cniConfig: "present" | "missing";
  readonly cniConfDir: string;
  readonly hasCniPlugins: boolean;
  readonly hasIproute: boolean;
}

/**
 * CNI is what somebody configured. Plugins without a configuration are no wish: ours for them would make the same
 * bridge as our own code, by some ten programs a pod, of which masquerading alone takes eight calls of iptables.
 */
export function decideNetwork(facts: NetworkFacts): [Network["name"], string] {
  const { cniConfDir, hasCniPlugins, hasIproute, inUse } = facts;
  if (inUse) return [inUse, `the network stays ${inUse}: pods of an earlier run are attached to it`];
  if (hasCniPlugins && facts.cniConfig === "present")
    return ["cni", `the network is cni: there are plugins and a configuration in ${cniConfDir}`];
  const noCni = hasCniPlugins ? `is no CNI configuration in ${cniConfDir}` : "are no CNI plugins";
  if (hasIproute) return ["bridge", `the network is a bridge of our own: there ${noCni}`];
  return ["host", `the network is the host's: there ${noCni}, and no iproute2`];
}

async function observe(options: {
  dataDir: string;
  cniConfDir: string;
  binDirs: readonly string[];
}): Promise<NetworkFacts> {
  const { dataDir, cniConfDir, binDirs } = options;
  // A broken configuration counts: its problem is to be told, not hidden by another network.
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
