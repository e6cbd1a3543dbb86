import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { isMapping } from "../../../lib/is-mapping.ts";
import { removeLink, uplinkMtu } from "../bridge/bridge-device.ts";
import {
  forgetSettings,
  readOrChooseSettings,
  readSettings,
  type WantedBridge,
} from "../bridge/bridge-settings.ts";
import { formatSubnet } from "../bridge/ipv4.ts";
import { NetworkError } from "../network.ts";

/** CNI network configuration: the plugins to run, in order. */
export interface CniConfig {
  readonly name: string;
  readonly cniVersion: string;
  readonly disableCheck: boolean;
  readonly plugins: readonly PluginConfig[];
}

/** Configuration of one plugin, with its own keys, as in the file. */
export interface PluginConfig extends Readonly<Record<string, unknown>> {
  readonly type: string;
}

/** Parses a conflist, or a configuration of a single plugin as a list of one. */
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
    // The type is searched only in the plugin directories.
    if (plugin.type.includes("/")) throw invalid(`has a plugin of the type ${JSON.stringify(plugin.type)}`);
  }
  return {
    name,
    cniVersion,
    disableCheck: disableCheck === true || disableCheck === "true",
    plugins: plugins.filter(isPlugin),
  };
}

/** Whether a version of the specification is at least another. */
export function isVersionAtLeast(version: string, wanted: string): boolean {
  const order = version.localeCompare(wanted, "en", { numeric: true });
  return order >= 0;
}

function isPlugin(value: unknown): value is PluginConfig {
  return isMapping(value) && typeof value.type === "string" && value.type !== "";
}

/** Result of ADD, passed unchanged to the next plugin and to DEL. */
export type CniResult = Readonly<Record<string, unknown>>;

/** Addresses of the pod without prefix lengths. Some plugins also list interfaces of the host. */
export function addressesOf(result: CniResult): readonly string[] {
  const { ips, interfaces } = result;
  if (!Array.isArray(ips)) return [];
  return ips.filter(isMapping).flatMap((ip) => {
    const { address, interface: index } = ip;
    if (typeof address !== "string") return [];
    const on: unknown =
      Array.isArray(interfaces) && typeof index === "number" ? interfaces[index] : undefined;
    const isHosts = isMapping(on) && (on.sandbox === undefined || on.sandbox === "");
    return isHosts ? [] : [address.split("/")[0] ?? address];
  });
}

/**
 * Record that DEL needs later: the configuration at the time of ADD and the plugins' result. Written before the first
 * plugin runs.
 */
export interface CniRecord {
  readonly config: CniConfig;
  readonly namespacePath: string;
  readonly args: string;
  readonly capabilityArgs: Readonly<Record<string, unknown>>;
  /** Result of the plugins; undefined until all have succeeded. */
  readonly result?: CniResult;
}

export function parseCniRecord(value: unknown): CniRecord | undefined {
  if (!isMapping(value)) return undefined;
  const { namespacePath, args, capabilityArgs, result } = value;
  if (typeof namespacePath !== "string" || typeof args !== "string" || !isMapping(capabilityArgs))
    return undefined;
  const config = parseCniConfig(JSON.stringify(value.config), "of a record");
  return { config, namespacePath, args, capabilityArgs, ...(isMapping(result) ? { result } : {}) };
}

/**
 * Loads the first configuration file by name, as other runtimes do. Undefined if there is none. A broken first file is
 * an error and not skipped, so that a typing mistake does not attach pods to another network.
 */
export async function loadCniConfig(directory: string): Promise<CniConfig | undefined> {
  const names = await readdir(directory).catch(() => []);
  const first = names.filter((name) => [".conf", ".conflist", ".json"].includes(extname(name))).sort()[0];
  if (first === undefined) return undefined;
  const path = join(directory, first);
  return parseCniConfig(await readFile(path, "utf8"), path);
}

export interface DefaultCni {
  config(): Promise<CniConfig>;
  /** Configuration with the same plugins, but without a bridge: enough to check that the plugins exist. */
  outline(): CniConfig;
  remove(): Promise<void>;
}

/** Default configuration with the bridge and subnet of this data directory. */
export function createDefaultCni(options: WantedBridge & { directory: string }): DefaultCni {
  const { directory } = options;
  const settingsFile = join(directory, "bridge.json");
  let made: Promise<CniConfig> | undefined;

  async function make(): Promise<CniConfig> {
    const { bridge, subnet } = await readOrChooseSettings(settingsFile, options);
    return defaultCniConfig({
      bridge,
      subnet: formatSubnet(subnet),
      ipamDirectory: join(directory, "addresses"),
      mtu: await uplinkMtu(),
    });
  }

  return {
    config() {
      made ??= make().catch((error) => {
        made = undefined;
        throw error;
      });
      return made;
    },
    outline: () => defaultCniConfig({ bridge: "none", subnet: "", ipamDirectory: "", mtu: 0 }),
    async remove() {
      made = undefined;
      const settings = await readSettings(settingsFile);
      if (!settings) return;
      await removeLink(settings.bridge);
      await forgetSettings(settingsFile);
    },
  };
}

/** Default CNI configuration: a bridge, addresses kept on disk, host ports. */
function defaultCniConfig(options: {
  bridge: string;
  subnet: string;
  ipamDirectory: string;
  mtu: number;
}): CniConfig {
  const { bridge, subnet, ipamDirectory, mtu } = options;
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet }]],
    routes: [{ dst: "0.0.0.0/0" }],
    dataDir: ipamDirectory,
  };
  return {
    name: bridge,
    // The latest version that the plugins of Debian 12 support.
    cniVersion: "1.0.0",
    disableCheck: false,
    plugins: [
      { type: "bridge", bridge, isGateway: true, ipMasq: true, hairpinMode: true, mtu, ipam },
      { type: "portmap", capabilities: { portMappings: true }, snat: true },
    ],
  };
}
