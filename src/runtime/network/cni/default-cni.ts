import { join } from "node:path";
import { removeLink, uplinkMtu } from "../bridge/bridge-device.ts";
import { forgetSettings, readOrChooseSettings, type WantedBridge } from "../bridge/bridge-settings.ts";
import { formatSubnet } from "../bridge/ipv4.ts";
import type { CniConfig } from "./cni-config.ts";
import { defaultCniConfig } from "./default-cni-config.ts";

export interface DefaultCni {
  config(): Promise<CniConfig>;
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
    async remove() {
      if (!made) return;
      made = undefined;
      const { bridge } = await readOrChooseSettings(settingsFile, options);
      await removeLink(bridge);
      await forgetSettings(settingsFile);
    },
  };
}
