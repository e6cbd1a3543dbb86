import { createRangeCheck } from "../../lib/ip-ranges.ts";
import type { Logger } from "../../lib/logger.ts";
import { tryRunProgram } from "../../lib/process/run-program.ts";
import type { ProxyBackend, ProxyState } from "../model/backend.ts";
import { diffPlans, type Exposure, planListeners, type UserspacePlan } from "./plan-listeners.ts";
import { type RelayClient, startRelay } from "./relay-client.ts";

export interface UserspaceOptions extends Exposure {
  /** Interface that gets the addresses of services: that of the pods, or `lo`. */
  readonly interface: string;
  /** Range of cluster IPs. On `lo`, addresses in it that an earlier process left are removed. */
  readonly serviceSubnet: string;
  readonly relayProgram?: string;
  readonly logger: Logger;
}

const empty: UserspacePlan = { addresses: new Set(), listeners: new Map() };

/**
 * Serves services without packet rules: their addresses are addresses of this machine, and a process relays connections to
 * endpoints. Needs iproute2 only.
 */
export function createUserspaceBackend(options: UserspaceOptions): ProxyBackend {
  const { logger } = options;
  const device = options.interface;
  let applied = empty;
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

  async function sync(state: ProxyState, isFirst: boolean): Promise<void> {
    const before = isFirst ? { ...empty, addresses: await addressesLeft(options) } : applied;
    const next = planListeners(state, options);
    const { addAddresses, removeAddresses, set, close } = diffPlans(before, next);
    await changeAddresses(device, "replace", addAddresses);
    await (await startedRelay()).apply({ set, close });
    await changeAddresses(device, "delete", removeAddresses);
    applied = next;
  }

  return {
    name: "userspace",
    limitations: ["servers see the address of this node instead of the client's, and SCTP is not served"],
    sync: (state) => sync(state, applied === empty),
    async isIntact() {
      if (!relay?.isRunning) return false;
      const there = await addressesLeft(options);
      return [...applied.addresses].filter(isServiceAddress(options)).every((address) => there.has(address));
    },
    async remove() {
      await relay?.close();
      relay = undefined;
      await changeAddresses(device, "delete", [
        ...new Set([...applied.addresses, ...(await addressesLeft(options))]),
      ]);
      applied = empty;
    },
    async close() {
      await relay?.close();
      relay = undefined;
    },
  };
}

/** Single addresses on the interface of the pods are those of services; `lo` may have others. */
function isServiceAddress({ interface: device, serviceSubnet }: UserspaceOptions) {
  return device === "lo" ? createRangeCheck([serviceSubnet]) : () => true;
}

/** Addresses of services on the interface. */
async function addressesLeft(options: UserspaceOptions): Promise<Set<string>> {
  // Only the addresses, because output is limited.
  const script = `ip -oneline address show dev "$1" | awk '{ print $4 }'`;
  const { exitCode, output } = await tryRunProgram("sh", ["-c", script, "sh", options.interface], {
    timeoutMs: 10_000,
  });
  if (exitCode !== 0) return new Set();
  const addresses = output.split("\n").flatMap((line) => /^(\S+)\/(?:32|128)$/.exec(line)?.[1] ?? []);
  return new Set(addresses.filter(isServiceAddress(options)));
}

async function changeAddresses(
  device: string,
  verb: "replace" | "delete",
  addresses: readonly string[],
): Promise<void> {
  if (addresses.length === 0) return;
  const lines = addresses.map((address) =>
    address.includes(":")
      ? `address ${verb} ${address}/128 dev ${device}${verb === "replace" ? " nodad" : ""}`
      : `address ${verb} ${address}/32 dev ${device}`,
  );
  const { exitCode, output } = await tryRunProgram("ip", ["-force", "-batch", "-"], {
    input: `${lines.join("\n")}\n`,
    timeoutMs: 60_000,
  });
  // An address or interface that is already gone need not be deleted.
  if (exitCode !== 0 && verb === "replace") throw new Error(`ip address ${verb}: ${output.slice(0, 1_000)}`);
}
