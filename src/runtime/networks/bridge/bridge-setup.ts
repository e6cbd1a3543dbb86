import type { Clock } from "../../../lib/clock.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Logger } from "../../../lib/logger.ts";
import { messageOf } from "../../../lib/message-of.ts";
import type { PortMapping } from "../network.ts";
import {
  allowLocalnetRouting,
  ensureBridgeDevice,
  hostLinkBatch,
  hostLinkName,
  ipBatch,
  linkExists,
  removeLink,
  uplinkMtu,
} from "./bridge-device.ts";
import {
  type BridgeSettings,
  forgetSettings,
  readOrChooseSettings,
  readSettings,
  type WantedBridge,
} from "./bridge-settings.ts";
import { formatSubnet } from "./ipv4.ts";
import { applyRules, areRulesThere, type PodPorts, removeRules } from "./packet-rules.ts";

export interface ReadyBridge extends BridgeSettings {
  readonly mtu: number;
}

/** Parts that all pods share: the bridge itself and the packet rules. */
export interface BridgeSetup {
  /** Creates missing parts of bridge and rules for a pod, also after they were removed externally. */
  ensure(): Promise<ReadyBridge>;
  /**
   * Returns why the bridge cannot be created. Creation is attempted with the first pod, and again here after a failure:
   * an idle node has no bridge. Kubelets call this regularly, so it also detects removed rules when no pod is created.
   */
  problem(): Promise<string | undefined>;
  /** Updates the packet rules from the pods on disk. */
  syncRules(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Time for which rules are assumed to exist after a check. Kubelets request the status more often, so pods do not wait.
 */
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

  /** Restores rules. Reloading a firewall, or an administrator, may flush them. */
  async function restoreRules(settings: BridgeSettings): Promise<void> {
    if (!filtersPackets || clock.now() - rulesSeenAt < rulesTrustedMs) return;
    const { bridge, subnet } = settings;
    // Rules of pods that are being attached or detached may be incomplete.
    const pods = (await options.podPorts()).filter(({ state }) => state === "attached");
    const there = await areRulesThere({ bridge, subnet: formatSubnet(subnet), pods }).catch((error) => {
      // Not a reason to reject pods: the rules usually exist.
      logger.warn("cannot check the packet rules of the bridge", { bridge, error });
      return true;
    });
    if (there) {
      rulesSeenAt = clock.now();
      return;
    }
    logger.warn("packet rules of the bridge were missing; restoring them", { bridge });
    await writeRules(settings);
  }

  /** Reconnects pods to a bridge that was removed externally and recreated. */
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

/** Record of a pod on the bridge. Written before anything is created for the pod. */
export interface BridgeRecord {
  readonly state: "attaching" | "attached";
  readonly address: string;
  readonly namespacePath: string;
  readonly portMappings: readonly PortMapping[];
  /** Whether the pod sends everything to the gateway. Pods of earlier releases reach each other directly. */
  readonly routed?: boolean;
}

export function parseBridgeRecord(value: unknown): BridgeRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { state, address, namespacePath, portMappings, routed } = value as Record<string, unknown>;
  if (state !== "attaching" && state !== "attached") return undefined;
  if (typeof address !== "string" || typeof namespacePath !== "string") return undefined;
  if (!Array.isArray(portMappings)) return undefined;
  return { state, address, namespacePath, portMappings, ...(routed === true && { routed }) };
}
