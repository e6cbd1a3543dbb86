import { join } from "node:path";
import { removeLink, uplinkMtu } from "../bridge/bridge-device.ts";
import {
  forgetSettings,
  readOrChooseSettings,
  readSettings,
  type WantedBridge,
} from "../bridge/bridge-settings.ts";
import { formatSubnet } from "../bridge/ipv4.ts";
import type { CniConfig } from "./cni-config.ts";
import { defaultCniConfig } from "./default-cni-config.ts";

export interface DefaultCni {
  config(): Promise<CniConfig>;
  /** With the same plugins, but no bridge taken yet: enough to see whether they are there. */
  outline(): CniConfig;
  remove(): Promise<void>;
}

/** The configuration of our own, with the bridge and the addresses that are this data directory's. */
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
