import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Logger } from "../../../lib/logger.ts";
import { endLeftoverProcesses } from "../end-leftover-processes.ts";
import type { Network, PodNetworkRequest, PortMapping } from "../network.ts";
import { checkPodId, NetworkError, notAttached } from "../network-error.ts";
import { isPinned, pinNamespaces, unpinNamespaces } from "../pin-namespaces.ts";
import { createPodRecords } from "../pod-records.ts";
import { podVariable, runQuietTool } from "../run-process.ts";
import { createAddressPool } from "./address-pool.ts";
import { ipBatch, removeLink } from "./bridge-device.ts";
import { type BridgeRecord, parseBridgeRecord } from "./bridge-record.ts";
import { createBridgeSetup, type ReadyBridge } from "./bridge-setup.ts";
import { checkPodLink } from "./check-pod-link.ts";
import { findPortProblem } from "./find-port-problem.ts";
import { gatewayOf } from "./ipv4.ts";
import { hostLinkBatch, hostLinkName, podLinkBatch } from "./link-batch.ts";
import { iptablesProblem } from "./packet-filter.ts";
import type { PodPorts } from "./packet-rules.ts";

export interface BridgeOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `kindling0`, or the first such name that is free, unless told. */
  readonly bridge?: string;
  /** A private range that no route leads to, unless told. */
  readonly subnet?: string;
}

/** A bridge of our own, with iproute2 alone; iptables for the way out and for host ports. */
export async function createBridgeNetwork(options: BridgeOptions): Promise<Network> {
  const { directory, logger } = options;
  const noFilter = await iptablesProblem();
  const namespacesDirectory = join(directory, "namespaces");
  const addresses = createAddressPool(join(directory, "addresses"));
  const records = createPodRecords(join(directory, "pods"), parseBridgeRecord);
  const perPod = createKeyedMutex();
  const claims = createKeyedMutex();
  const setup = createBridgeSetup({
    clock: options.clock,
    settingsFile: join(directory, "bridge.json"),
    wanted: options,
    filtersPackets: noFilter === undefined,
    logger,
    podPorts,
  });

  async function podPorts(): Promise<readonly (PodPorts & BridgeRecord)[]> {
    const ids = await records.ids();
    const all = await Promise.all(ids.map(async (podId) => ({ podId, record: await records.read(podId) })));
    return all.flatMap(({ podId, record }) => (record ? [{ podId, ...record }] : []));
  }

  /** What the pod shall have, on disk: from here on no other pod gets it. */
  async function claim(pod: PodNetworkRequest, { subnet }: ReadyBridge): Promise<BridgeRecord> {
    const { podId } = pod;
    const portMappings = pod.portMappings.filter(({ hostPort }) => hostPort > 0);
    await refuseUnmappable(podId, portMappings);
    const address = await addresses.allocate(podId, subnet);
    const namespacePath = pod.namespacePath ?? join(namespacesDirectory, podId, "net");
    const record: BridgeRecord = { state: "attaching", address, namespacePath, portMappings };
    await records.write(podId, record);
    return record;
  }

  async function make(pod: PodNetworkRequest, bridge: ReadyBridge): Promise<BridgeRecord> {
    const { podId } = pod;
    // One after the other where host ports are asked for: of two pods that want the same, the second is to see the first.
    const hasPorts = pod.portMappings.some(({ hostPort }) => hostPort > 0);
    const record = await (hasPorts ? claims.run("host ports", () => claim(pod, bridge)) : claim(pod, bridge));
    const { address, namespacePath, portMappings } = record;
    const link = podLinkBatch({
      podId,
      address,
      prefixLength: bridge.subnet.prefixLength,
      gateway: gatewayOf(bridge.subnet),
      mtu: bridge.mtu,
      hostNamespacePath: `/proc/${process.pid}/ns/net`,
    });
    if (pod.namespacePath === undefined) {
      const ownDirectory = join(namespacesDirectory, podId);
      await pinNamespaces({ podId, directory: ownDirectory, kinds: ["net"], ipBatch: link });
    } else {
      const input = ["link set lo up", ...link, ""].join("\n");
      const env = { [podVariable]: podId };
      await runQuietTool("nsenter", [`--net=${namespacePath}`, "ip", "-batch", "-"], { input, env });
    }
    await ipBatch(hostLinkBatch(podId, bridge.bridge), { [podVariable]: podId });
    if (portMappings.length > 0) await setup.syncRules();
    const attached: BridgeRecord = { ...record, state: "attached" };
    await records.write(podId, attached);
    return attached;
  }

  async function refuseUnmappable(podId: string, ports: readonly PortMapping[]): Promise<void> {
    if (ports.length === 0) return;
    if (noFilter) throw new NetworkError("invalid", `host ports need iptables: ${noFilter}`);
    const problem = findPortProblem(
      ports,
      (await podPorts()).filter((other) => other.podId !== podId),
    );
    if (problem) throw new NetworkError("invalid", problem);
  }

  async function release(podId: string): Promise<void> {
    const record = await records.read(podId);
    if (record?.state !== "attached") await endLeftoverProcesses(podId);
    await Promise.all([removeLink(hostLinkName(podId)), unpinNamespaces(join(namespacesDirectory, podId))]);
    if (record && record.portMappings.length > 0) {
      // Out of the rules first, out of the records after: a kill between leaves something to go on from.
      await records.write(podId, { ...record, state: "attaching", portMappings: [] });
      await setup.syncRules();
    }
    await records.remove(podId);
    // Last: from here on another pod may have it.
    await addresses.release(podId);
  }

  async function list(): Promise<readonly string[]> {
    const pinned = readdir(namespacesDirectory).catch(() => []);
    const lists = await Promise.all([records.ids(), addresses.podIds(), pinned]);
    return [...new Set(lists.flat())];
  }

  return {
    name: "bridge",
    limitations: noFilter
      ? [
          `pods reach only each other and the host, and have no host ports: iptables does not work (${noFilter})`,
        ]
      : [],
    problem: setup.problem,
    attach: (pod) =>
      perPod.run(pod.podId, async () => {
        checkPodId(pod.podId);
        const before = await records.read(pod.podId);
        if (before?.state === "attached" && (await isPinned(before.namespacePath)))
          return { namespacePath: before.namespacePath, addresses: [before.address] };
        if (before) await release(pod.podId);
        try {
          const { namespacePath, address } = await make(pod, await setup.ensure());
          return { namespacePath, addresses: [address] };
        } catch (error) {
          await release(pod.podId).catch((cause) =>
            logger.error("cannot undo a failed attach", { podId: pod.podId, error: cause }),
          );
          throw error;
        }
      }),
    check: (podId) =>
      perPod.run(podId, async () => {
        const record = await records.read(podId);
        if (record?.state !== "attached") throw notAttached(podId);
        const { bridge } = await setup.ensure();
        await checkPodLink({ podId, bridge, ...record });
      }),
    detach: (podId) =>
      perPod.run(podId, async () => {
        checkPodId(podId);
        await release(podId);
      }),
    list,
    async close() {
      if ((await list()).length === 0) await setup.remove();
    },
  };
}
