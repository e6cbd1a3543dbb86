import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Logger } from "../../../lib/logger.ts";
import {
  allowLocalnetRouting,
  ensureBridgeDevice,
  ipBatch,
  linkExists,
  removeLink,
  uplinkMtu,
} from "./bridge-device.ts";
import {
  type BridgeSettings,
  forgetSettings,
  readOrChooseSettings,
  type WantedBridge,
} from "./bridge-settings.ts";
import { formatSubnet } from "./ipv4.ts";
import { hostLinkBatch, hostLinkName } from "./link-batch.ts";
import { applyRules, removeRules } from "./packet-filter.ts";
import type { PodPorts } from "./packet-rules.ts";

export interface ReadyBridge extends BridgeSettings {
  readonly mtu: number;
}

/** What all pods share: the bridge itself and the packet rules. */
export interface BridgeSetup {
  /** Makes the bridge where it is missing: at first, and again when somebody removed it. */
  ensure(): Promise<ReadyBridge>;
  /** Makes the packet rules follow from the pods on disk. */
  syncRules(): Promise<void>;
  remove(): Promise<void>;
}

export function createBridgeSetup(options: {
  settingsFile: string;
  wanted: WantedBridge;
  filtersPackets: boolean;
  logger: Logger;
  podPorts: () => Promise<readonly PodPorts[]>;
}): BridgeSetup {
  const { settingsFile, wanted, filtersPackets, logger } = options;
  const mutex = createKeyedMutex();
  let ready: ReadyBridge | undefined;

  async function make(): Promise<ReadyBridge> {
    const settings = await readOrChooseSettings(settingsFile, wanted);
    const bridge = { ...settings, mtu: await uplinkMtu() };
    await ensureBridgeDevice({ name: bridge.bridge, subnet: bridge.subnet, mtu: bridge.mtu, logger });
    await writeRules(bridge);
    await reconnectPods(bridge);
    return bridge;
  }

  async function writeRules({ bridge, subnet }: BridgeSettings): Promise<void> {
    if (!filtersPackets) return;
    const pods = await options.podPorts();
    if (pods.some(({ portMappings }) => portMappings.length > 0)) await allowLocalnetRouting(bridge);
    await applyRules({ bridge, subnet: formatSubnet(subnet), pods });
  }

  /** Pods that were on a bridge that somebody removed. */
  async function reconnectPods({ bridge }: BridgeSettings): Promise<void> {
    for (const { podId } of await options.podPorts()) {
      if (!(await linkExists(hostLinkName(podId)))) continue;
      await ipBatch(hostLinkBatch(podId, bridge)).catch((error) =>
        logger.warn("cannot connect a pod to the bridge again", { podId, error }),
      );
    }
  }

  return {
    ensure: () =>
      mutex.run("setup", async () => {
        if (!ready || !(await linkExists(ready.bridge))) ready = await make();
        return ready;
      }),
    syncRules: () =>
      mutex.run("setup", async () => {
        await writeRules(ready ?? (await readOrChooseSettings(settingsFile, wanted)));
      }),
    remove: () =>
      mutex.run("setup", async () => {
        ready = undefined;
        const { bridge, subnet } = await readOrChooseSettings(settingsFile, wanted);
        await removeLink(bridge);
        if (filtersPackets) await removeRules({ bridge, subnet: formatSubnet(subnet) });
        await forgetSettings(settingsFile);
      }),
  };
}
