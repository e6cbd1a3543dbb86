import type { Clock } from "../../../lib/clock.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Logger } from "../../../lib/logger.ts";
import { messageOf } from "../../../lib/message-of.ts";
import {
  allowLocalnetRouting,
  ensureBridgeDevice,
  ipBatch,
  linkExists,
  removeLink,
  uplinkMtu,
} from "./bridge-device.ts";
import type { BridgeRecord } from "./bridge-record.ts";
import {
  type BridgeSettings,
  forgetSettings,
  readOrChooseSettings,
  readSettings,
  type WantedBridge,
} from "./bridge-settings.ts";
import { formatSubnet } from "./ipv4.ts";
import { hostLinkBatch, hostLinkName } from "./link-batch.ts";
import { applyRules, areRulesThere, removeRules } from "./packet-filter.ts";
import type { PodPorts } from "./packet-rules.ts";

export interface ReadyBridge extends BridgeSettings {
  readonly mtu: number;
}

/** What all pods share: the bridge itself and the packet rules. */
export interface BridgeSetup {
  /** For a pod: makes what is missing of bridge and rules: at first, and again when somebody took it away. */
  ensure(): Promise<ReadyBridge>;
  /**
   * Why it cannot be made. It is tried with the first pod, and again here after a failure: an idle node has none. Since
   * kubelets ask this all the time, it is also where rules that somebody flushed are noticed when no pod comes.
   */
  problem(): Promise<string | undefined>;
  /** Makes the packet rules follow from the pods on disk. */
  syncRules(): Promise<void>;
  remove(): Promise<void>;
}

/** So long after a look at the rules they are taken for there. Kubelets ask for the status more often: no pod waits for a look. */
const rulesTrustedMs = 60_000;

export function createBridgeSetup(options: {
  clock: Clock;
  settingsFile: string;
  wanted: WantedBridge;
  filtersPackets: boolean;
  logger: Logger;
  podPorts: () => Promise<readonly (PodPorts & Pick<BridgeRecord, "state">)[]>;
}): BridgeSetup {
  const { clock, settingsFile, wanted, filtersPackets, logger } = options;
  const mutex = createKeyedMutex();
  let ready: ReadyBridge | undefined;
  let failed = false;
  let rulesSeenAt = Number.NEGATIVE_INFINITY;

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
    rulesSeenAt = clock.now();
  }

  /** Firewalls that are loaded anew, and people, flush the rules of others too. */
  async function restoreRules(settings: BridgeSettings): Promise<void> {
    if (!filtersPackets || clock.now() - rulesSeenAt < rulesTrustedMs) return;
    const { bridge, subnet } = settings;
    // The rules of pods that come or go are just being written.
    const pods = (await options.podPorts()).filter(({ state }) => state === "attached");
    const there = await areRulesThere({ bridge, subnet: formatSubnet(subnet), pods }).catch((error) => {
      // No reason to refuse pods: the rules are mostly there.
      logger.warn("cannot look after the packet rules of the bridge", { bridge, error });
      return true;
    });
    if (there) {
      rulesSeenAt = clock.now();
      return;
    }
    logger.warn("packet rules of the bridge were gone; they are made again", { bridge });
    await writeRules(settings);
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

  function ensure(): Promise<ReadyBridge> {
    return mutex.run("setup", async () => {
      if (ready && (await linkExists(ready.bridge))) {
        await restoreRules(ready);
        return ready;
      }
      failed = true;
      ready = await make();
      failed = false;
      return ready;
    });
  }

  return {
    ensure,
    async problem() {
      const inUse = await readSettings(settingsFile);
      if (!failed && !inUse) return undefined;
      return ensure().then(
        () => undefined,
        (error: unknown) => messageOf(error),
      );
    },
    syncRules: () =>
      mutex.run("setup", async () => {
        const settings = ready ?? (await readSettings(settingsFile));
        if (settings) await writeRules(settings);
      }),
    remove: () =>
      mutex.run("setup", async () => {
        ready = undefined;
        const settings = await readSettings(settingsFile);
        if (!settings) return;
        const { bridge, subnet } = settings;
        await removeLink(bridge);
        if (filtersPackets) await removeRules({ bridge, subnet: formatSubnet(subnet) });
        await forgetSettings(settingsFile);
      }),
  };
}
