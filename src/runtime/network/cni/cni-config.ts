import { isMapping } from "../../../lib/is-mapping.ts";
import { NetworkError } from "../network-error.ts";

/** A network configuration: the plugins to run, in order. */
export interface CniConfig {
  readonly name: string;
  readonly cniVersion: string;
  readonly disableCheck: boolean;
  readonly plugins: readonly PluginConfig[];
}

/** One plugin's part, as it stands in the file: plugins have keys of their own. */
export interface PluginConfig extends Readonly<Record<string, unknown>> {
  readonly type: string;
}

/** A conflist, or a conf of a single plugin, which counts as a list of one. */
export function parseCniConfig(text: string, source: string): CniConfig {
  const invalid = (what: string) => new NetworkError("invalid", `the CNI configuration ${source} ${what}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(`is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!isMapping(value)) throw invalid("is not an object");
  const { name, cniVersion = "0.1.0", disableCheck, plugins = [value] } = value;
  if (typeof name !== "string" || name === "") throw invalid("has no name");
  if (typeof cniVersion !== "string" || !/^\d+\.\d+\.\d+$/.test(cniVersion))
    throw invalid(`has the version ${JSON.stringify(cniVersion)}`);
  if (!Array.isArray(plugins) || plugins.length === 0) throw invalid("lists no plugins");
  for (const plugin of plugins) {
    if (!isPlugin(plugin)) throw invalid("has a plugin without a type");
    // The type is looked up in the directories for plugins, and nowhere else.
    if (plugin.type.includes("/")) throw invalid(`has a plugin of the type ${JSON.stringify(plugin.type)}`);
  }
  return {
    name,
    cniVersion,
    disableCheck: disableCheck === true || disableCheck === "true",
    plugins: plugins.filter(isPlugin),
  };
}

/** Whether a configuration is of this version of the specification or a later one. */
export function isVersionAtLeast(version: string, wanted: string): boolean {
  const order = version.localeCompare(wanted, "en", { numeric: true });
  return order >= 0;
}

function isPlugin(value: unknown): value is PluginConfig {
  return isMapping(value) && typeof value.type === "string" && value.type !== "";
}
