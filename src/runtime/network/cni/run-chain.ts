import { NetworkError } from "../network-error.ts";
import { runtimeConfigFor } from "./capability-args.ts";
import { type CniConfig, isVersionAtLeast, type PluginConfig } from "./cni-config.ts";
import type { CniResult } from "./cni-result.ts";
import { invokePlugin, type PodArguments } from "./invoke-plugin.ts";

/** One pod's way through the plugins of one configuration. */
export interface Chain {
  readonly config: CniConfig;
  readonly pod: PodArguments;
  readonly capabilityArgs: Readonly<Record<string, unknown>>;
  readonly binDirs: readonly string[];
  readonly timeoutMs: number;
}

/** Each plugin gets the result of the one before; the last one's counts. `onStart` comes before each. */
export async function addAll(chain: Chain, onStart: () => void): Promise<CniResult> {
  let result: CniResult | undefined;
  for (const plugin of chain.config.plugins) {
    onStart();
    result = await invokePlugin({ ...callOf(chain, plugin, result), command: "ADD" });
  }
  return result ?? {};
}

/** Backwards, and on past failures: what one plugin cannot release keeps no other from it. */
export async function deleteAll(
  chain: Chain,
  result: CniResult | undefined,
): Promise<readonly { index: number; error: NetworkError }[]> {
  const failures: { index: number; error: NetworkError }[] = [];
  // Plugins before 0.4.0 do not know a previous result here.
  const previous = isVersionAtLeast(chain.config.cniVersion, "0.4.0") ? result : undefined;
  for (const [index, plugin] of [...chain.config.plugins.entries()].reverse()) {
    const remove = () => invokePlugin({ ...callOf(chain, plugin, previous), command: "DEL" });
    try {
      // Twice: after an ADD that was killed half way, bridge releases nearly everything, then fails at a rule that was
      // never made; the next time it does not come to that rule.
      await remove().catch((error: NetworkError) => {
        if (error.code === "pluginTimedOut") throw error;
        return remove();
      });
    } catch (error) {
      failures.push({ index, error: error as NetworkError });
    }
  }
  return failures;
}

export async function checkAll(chain: Chain, result: CniResult): Promise<void> {
  if (chain.config.disableCheck || !isVersionAtLeast(chain.config.cniVersion, "0.4.0")) return;
  for (const plugin of chain.config.plugins) {
    try {
      await invokePlugin({ ...callOf(chain, plugin, result), command: "CHECK" });
    } catch (error) {
      if (!isFalseAlarm(plugin, error)) throw error;
    }
  }
}

/** portmap up to 1.1 looks for the IPv6 rules of a pod that has no IPv6 address, after it found the others right. */
function isFalseAlarm({ type }: PluginConfig, error: unknown): boolean {
  return type === "portmap" && error instanceof NetworkError && error.message.includes("check ipv6 dnat");
}

function callOf(chain: Chain, plugin: PluginConfig, prevResult: CniResult | undefined) {
  const { config, pod, binDirs, timeoutMs } = chain;
  const runtimeConfig = runtimeConfigFor(plugin, chain.capabilityArgs);
  return {
    type: plugin.type,
    binDirs,
    timeoutMs,
    pod,
    config: {
      ...plugin,
      name: config.name,
      cniVersion: config.cniVersion,
      ...(runtimeConfig ? { runtimeConfig } : {}),
      ...(prevResult ? { prevResult } : {}),
    },
  };
}
