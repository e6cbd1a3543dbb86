import { findProgram } from "../../drivers/find-program.ts";
import { NetworkError } from "../network.ts";
import { runQuietTool, runTool } from "../run-process.ts";
import { type CniConfig, type CniResult, isVersionAtLeast, type PluginConfig } from "./cni-config.ts";
import { invokePlugin, type PodArguments, runtimeConfigFor } from "./invoke-plugin.ts";

/** Plugins of one configuration with the arguments of one pod. */
export interface Chain {
  readonly config: CniConfig;
  readonly pod: PodArguments;
  readonly capabilityArgs: Readonly<Record<string, unknown>>;
  readonly binDirs: readonly string[];
  readonly timeoutMs: number;
}

/**
 * Runs ADD. Each plugin gets the result of the previous one; the last result is returned. `onStart` is called before
 * each.
 */
export async function addAll(chain: Chain, onStart: () => void): Promise<CniResult> {
  let result: CniResult | undefined;
  for (const plugin of chain.config.plugins) {
    onStart();
    result = await invokePlugin({ ...callOf(chain, plugin, result), command: "ADD" });
  }
  return result ?? {};
}

/** Runs DEL in reverse order and continues after failures, so that every plugin can release what it holds. */
export async function deleteAll(
  chain: Chain,
  result: CniResult | undefined,
): Promise<readonly { index: number; error: NetworkError }[]> {
  const failures: { index: number; error: NetworkError }[] = [];
  // Plugins before 0.4.0 do not accept a previous result here.
  const previous = isVersionAtLeast(chain.config.cniVersion, "0.4.0") ? result : undefined;
  for (const [index, plugin] of [...chain.config.plugins.entries()].reverse()) {
    const remove = () => invokePlugin({ ...callOf(chain, plugin, previous), command: "DEL" });
    try {
      // Tried twice: after an ADD that was killed half way, bridge releases nearly everything and then fails at a rule
      // that was never created; the second call does not reach that rule.
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

/** Whether the error is wrong: portmap up to 1.1 requires the IPv6 rules of a pod that has no IPv6 address. */
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

/** Sets loopback up with the loopback plugin where iproute2 did not do so when the namespace was pinned. */
export async function bringLoopbackUp({ pod, binDirs, timeoutMs }: Chain): Promise<void> {
  const type = "loopback";
  if (findProgram("ip") || !findProgram(type, binDirs)) return;
  await invokePlugin({
    command: "ADD",
    type,
    config: { cniVersion: "0.4.0", name: "lo", type },
    binDirs,
    timeoutMs,
    pod: { ...pod, interfaceName: "lo" },
  });
}

/**
 * Removes masquerading rules that DEL left. The bridge and ptp plugins up to 1.1 find them by the addresses inside the
 * pod's namespace, which fails when the namespace or its interface is gone.
 */
export async function removeMasquerade(podId: string, { name, plugins }: CniConfig): Promise<void> {
  if (!plugins.some(({ ipMasq }) => ipMasq === true)) return;
  const remaining = async () =>
    renderMasqueradeRemoval(await runTool("iptables-save", ["-t", "nat"]), { podId, networkName: name });
  const input = await remaining();
  if (!input) return;
  try {
    await runQuietTool("iptables-restore", ["--noflush", "--wait"], { input });
  } catch (error) {
    // A plugin that outlived its daemon may have removed the rules in between.
    if (await remaining()) throw error;
  }
}

/** Renders input for iptables-restore; undefined when there is nothing to remove. */
export function renderMasqueradeRemoval(
  saved: string,
  { podId, networkName }: { podId: string; networkName: string },
): string | undefined {
  const comment = `--comment "name: \\"${networkName}\\" id: \\"${podId}\\""`;
  const jumps = saved
    .split("\n")
    .filter((line) => line.startsWith("-A POSTROUTING ") && line.includes(comment))
    .flatMap((line) => {
      const chain = / -j (CNI-[0-9a-f]{24})$/.exec(line)?.[1];
      return chain ? [{ line, chain }] : [];
    });
  if (jumps.length === 0) return undefined;
  return [
    "*nat",
    ...jumps.map(({ chain }) => `:${chain} - [0:0]`),
    ...jumps.map(({ line }) => line.replace("-A", "-D")),
    ...jumps.map(({ chain }) => `-X ${chain}`),
    "COMMIT",
    "",
  ].join("\n");
}
