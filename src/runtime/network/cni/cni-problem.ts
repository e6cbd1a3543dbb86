import { messageOf } from "../../../lib/message-of.ts";
import { findProgram } from "../../driver/find-program.ts";
import { type CniConfig, isVersionAtLeast } from "./cni-config.ts";
import { invokePlugin } from "./invoke-plugin.ts";

/** Plugins that answered VERSION, by path: they are asked once. */
type KnownVersions = Map<string, readonly unknown[]>;

/** Why pods cannot be attached with this configuration; undefined when they can, as far as plugins tell. */
export function createCniProblemFinder(binDirs: readonly string[], timeoutMs: number) {
  const known: KnownVersions = new Map();

  return async function findProblem(config: CniConfig): Promise<string | undefined> {
    for (const plugin of config.plugins) {
      const { type } = plugin;
      const path = findProgram(type, binDirs);
      if (!path) return `CNI plugin ${type} is not in ${binDirs.join(" or ")}`;
      try {
        const versions = known.get(path) ?? (await supportedVersions(type));
        known.set(path, versions);
        if (versions.length > 0 && !versions.includes(config.cniVersion))
          return `CNI plugin ${type} does not know version ${config.cniVersion} of the specification`;
        if (isVersionAtLeast(config.cniVersion, "1.1.0")) {
          const { name, cniVersion } = config;
          await invokePlugin({
            ...{ command: "STATUS", type, binDirs, timeoutMs },
            config: { ...plugin, name, cniVersion },
          });
        }
      } catch (error) {
        return messageOf(error);
      }
    }
    return undefined;
  };

  async function supportedVersions(type: string): Promise<readonly unknown[]> {
    const config = { cniVersion: "1.0.0" };
    const { supportedVersions } = await invokePlugin({
      command: "VERSION",
      type,
      binDirs,
      timeoutMs,
      config,
    });
    return Array.isArray(supportedVersions) ? supportedVersions : [];
  }
}
