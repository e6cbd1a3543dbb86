import { rm } from "node:fs/promises";
import type { Logger } from "../../lib/logger.ts";
import type { ProxyBackend, ProxyState } from "../model/backend.ts";
import { diffPlans, type Exposure, planListeners, type UserspacePlan } from "./plan-listeners.ts";
import { type RelayClient, startRelay } from "./relay-client.ts";
import {
  changeAddresses,
  findLeftAddresses,
  readAddresses,
  readAddressRecord,
  writeAddressRecord,
} from "./service-addresses.ts";

export interface UserspaceOptions extends Exposure {
  /** Interface that gets the addresses of services: that of the pods, or `lo`. */
  readonly interface: string;
  /** Range of cluster IPs. On `lo`, addresses in it that an earlier process left are removed. */
  readonly serviceSubnet: string;
  /** File with the addresses that were added, so that they are found after a kill. */
  readonly addressRecord: string;
  readonly relayProgram?: string;
  readonly logger: Logger;
}

const empty: UserspacePlan = { addresses: new Set(), listeners: new Map() };

/**
 * Serves services without packet rules: their addresses are addresses of this machine, and a process relays connections to
 * endpoints. Needs iproute2 only.
 */
export function createUserspaceBackend(options: UserspaceOptions): ProxyBackend {
  const { logger, serviceSubnet, addressRecord } = options;
  const device = options.interface;
  let applied = empty;
  /** Addresses of the interface that are not the proxy's: they are served, but never removed. */
  let otherAddresses: ReadonlySet<string> = new Set();
  let relay: RelayClient | undefined;

  async function startedRelay(): Promise<RelayClient> {
    if (relay?.isRunning) return relay;
    const started = await startRelay({
      program: options.relayProgram,
      podSubnets: options.podSubnets ?? [],
      logger,
      onLost() {
        logger.warn("the relay of services has ended; starting it again");
        void restart();
      },
    });
    relay = started;
    return started;
  }

  async function restart(): Promise<void> {
    try {
      await (await startedRelay()).apply({ set: [...applied.listeners.values()], close: [] });
    } catch (error) {
      logger.error("cannot start the relay of services; trying again with the next check", { error });
    }
  }

  async function sync(state: ProxyState, isFull: boolean): Promise<void> {
    const before = isFull ? { ...applied, addresses: await takeOver() } : applied;
    const planned = planListeners(state, options);
    const addresses = new Set([...planned.addresses].filter((address) => !otherAddresses.has(address)));
    const next = { ...planned, addresses };
    const { addAddresses, removeAddresses, set, close } = diffPlans(before, next);
    if (addAddresses.length > 0) await record([...before.addresses, ...addAddresses]);
    await changeAddresses(device, "replace", addAddresses);
    await (await startedRelay()).apply({ set, close });
    await changeAddresses(device, "delete", removeAddresses);
    if (removeAddresses.length > 0) await record(addresses);
    applied = next;
  }

  async function findLeft() {
    const [present, recorded] = await Promise.all([
      readAddresses(device),
      readAddressRecord(addressRecord, device),
    ]);
    const known = new Set([...recorded, ...applied.addresses]);
    return { present, left: findLeftAddresses({ device, present, recorded: known, serviceSubnet }) };
  }

  /** Returns the addresses of services that the interface has, which this or an earlier process added. */
  async function takeOver(): Promise<Set<string>> {
    const { present, left } = await findLeft();
    otherAddresses = new Set([...present].filter((address) => !left.has(address)));
    return left;
  }

  async function record(addresses: Iterable<string>): Promise<void> {
    try {
      await writeAddressRecord(addressRecord, { device, addresses });
    } catch (error) {
      // With a full disk services still work.
      logger.warn("cannot record the addresses of services; after a kill some of them may stay", { error });
    }
  }

  return {
    name: "userspace",
    limitations: ["servers see the address of this node instead of the client's, and SCTP is not served"],
    sync: (state, changed) => sync(state, changed === undefined || applied === empty),
    async isIntact() {
      if (!relay?.isRunning) return false;
      const present = await readAddresses(device);
      return [...applied.addresses].every((address) => present.has(address));
    },
    async remove() {
      await relay?.close();
      relay = undefined;
      const { left } = await findLeft();
      await changeAddresses(device, "delete", [...new Set([...applied.addresses, ...left])]);
      await rm(addressRecord, { force: true });
      applied = empty;
    },
    async close() {
      await relay?.close();
      relay = undefined;
    },
  };
}
