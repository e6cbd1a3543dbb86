import { join } from "node:path";
import type { Logger } from "../../lib/logger.ts";
import { createBridgeNetwork } from "./bridge/bridge-network.ts";
import { iptablesProblem } from "./bridge/packet-filter.ts";
import { createCniNetwork } from "./cni/cni-network.ts";
import { createDefaultCni } from "./cni/default-cni.ts";
import { defaultPluginTypes } from "./cni/default-cni-config.ts";
import { loadCniConfig } from "./cni/load-cni-config.ts";
import { findProgram } from "./find-program.ts";
import { createHostNetwork } from "./host-network.ts";
import type { Network } from "./network.ts";

export interface NetworkOptions {
  readonly dataDir: string;
  readonly logger: Logger;
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
    : decideNetwork(await observe(cniConfDir, binDirs));
  logger.info(reason, { network: name });
  // Different networks keep to different directories: pods of another one than today's stay releasable.
  const directory = join(dataDir, "network", name);
  switch (name) {
    case "cni": {
      const own = createDefaultCni({ directory, bridge: options.bridge, subnet: options.subnet });
      const network = createCniNetwork({
        directory,
        logger,
        binDirs,
        loadConfig: async () => (await loadCniConfig(cniConfDir)) ?? own.config(),
        removeShared: own.remove,
        pluginTimeoutMs: options.pluginTimeoutMs,
      });
      return { network, reason };
    }
    case "bridge": {
      const { bridge, subnet } = options;
      return { network: await createBridgeNetwork({ directory, logger, bridge, subnet }), reason };
    }
    case "host":
      return { network: createHostNetwork(), reason };
  }
}

export interface NetworkFacts {
  readonly cniConfig: "present" | "missing";
  readonly cniConfDir: string;
  /** Whether each plugin that our own configuration needs is there. */
  readonly cniPlugins: "all" | "some" | "none";
  readonly hasIproute: boolean;
  readonly iptablesProblem: string | undefined;
}

export function decideNetwork(facts: NetworkFacts): [Network["name"], string] {
  const { cniConfDir, cniPlugins, hasIproute } = facts;
  if (cniPlugins !== "none" && facts.cniConfig === "present")
    return ["cni", `the network is cni: there are plugins and a configuration in ${cniConfDir}`];
  const own = hasIproute && !facts.iptablesProblem;
  if (cniPlugins === "all" && own)
    return [
      "cni",
      `the network is cni with a configuration of our own: there are plugins and none in ${cniConfDir}`,
    ];
  const noCni =
    cniPlugins === "none" ? "no CNI plugins" : "CNI plugins, but neither a configuration nor what ours needs";
  if (hasIproute) return ["bridge", `the network is a bridge of our own: there are ${noCni}`];
  return ["host", `the network is the host's: there are ${noCni}, and no iproute2`];
}

async function observe(cniConfDir: string, binDirs: readonly string[]): Promise<NetworkFacts> {
  const config = await loadCniConfig(cniConfDir).catch(() => "broken" as const);
  const plugins = await Promise.all(
    [...defaultPluginTypes, "loopback"].map((type) => findProgram(type, binDirs)),
  );
  return {
    cniConfig: config ? "present" : "missing",
    cniConfDir,
    cniPlugins: plugins.every(Boolean) ? "all" : plugins.some(Boolean) ? "some" : "none",
    hasIproute: (await findProgram("ip")) !== undefined && (await findProgram("unshare")) !== undefined,
    iptablesProblem: await iptablesProblem(),
  };
}
