import { readdir, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Logger } from "../../../lib/logger.ts";
import {
  broken,
  checkPodId,
  type Network,
  NetworkError,
  notAttached,
  type PodNetworkRequest,
  type PortMapping,
} from "../network.ts";
import { isPinned, pinNamespaces, unpinNamespaces } from "../pin-namespaces.ts";
import { createPodRecords } from "../pod-records.ts";
import { endLeftoverProcesses, podVariable, runProcess, runQuietTool } from "../run-process.ts";
import { hostLinkBatch, hostLinkName, ipBatch, podLinkBatch, removeLink } from "./bridge-device.ts";
import { type BridgeRecord, createBridgeSetup, parseBridgeRecord, type ReadyBridge } from "./bridge-setup.ts";
import { createAddressPool, formatSubnet, gatewayOf } from "./ipv4.ts";
import { findPortProblem, iptablesProblem, type PodPorts } from "./packet-rules.ts";

export interface BridgeOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name of the bridge. Defaults to `kindling0`, or the first such name that is free. */
  readonly bridge?: string;
  /** Subnet of the pods. Defaults to a private range without a route. */
  readonly subnet?: string;
}

/** Network with a built-in bridge. Requires only iproute2; uses iptables for outgoing traffic and host ports. */
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

  /** Reserves address and ports of the pod on disk, so that no other pod gets them. */
  async function claim(pod: PodNetworkRequest, { subnet }: ReadyBridge): Promise<BridgeRecord> {
    const { podId } = pod;
    const portMappings = pod.portMappings.filter(({ hostPort }) => hostPort > 0);
    await checkPorts(podId, portMappings);
    const address = await addresses.allocate(podId, subnet);
    const namespacePath = pod.namespacePath ?? join(namespacesDirectory, podId, "net");
    const record: BridgeRecord = { state: "attaching", address, namespacePath, portMappings, routed: true };
    await records.write(podId, record);
    return record;
  }

  async function make(pod: PodNetworkRequest, bridge: ReadyBridge): Promise<BridgeRecord> {
    const { podId } = pod;
    // Serialized where host ports are requested, so that the second of two pods with the same port sees the first.
    const hasPorts = pod.portMappings.some(({ hostPort }) => hostPort > 0);
    const record = await (hasPorts ? claims.run("host ports", () => claim(pod, bridge)) : claim(pod, bridge));
    const { address, namespacePath, portMappings } = record;
    const link = podLinkBatch({
      podId,
      address,
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

  async function checkPorts(podId: string, ports: readonly PortMapping[]): Promise<void> {
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
      // Removed from the rules before the records, so that a restart can continue after a kill in between.
      await records.write(podId, { ...record, state: "attaching", portMappings: [] });
      await setup.syncRules();
    }
    await records.remove(podId);
    // Released last, because another pod may get the address from here on.
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
    async prepare() {
      const { bridge, subnet } = await setup.ensure();
      return { interface: bridge, gateway: gatewayOf(subnet), subnet: formatSubnet(subnet) };
    },
    async close() {
      if ((await list()).length === 0) await setup.remove();
    },
  };
}

/** Checks the link between the pod's address and the bridge. Rejects with what is missing. */
async function checkPodLink(pod: {
  podId: string;
  bridge: string;
  address: string;
  namespacePath: string;
}): Promise<void> {
  const { podId, bridge, address, namespacePath } = pod;
  if (!(await isPinned(namespacePath))) throw broken(podId, `its namespace ${namespacePath} is gone`);
  const link = hostLinkName(podId);
  const master = await readlink(`/sys/class/net/${link}/master`).catch(() => "");
  if (basename(master) !== bridge) throw broken(podId, `its link ${link} is not on the bridge ${bridge}`);
  const shown = await runProcess("nsenter", [
    `--net=${namespacePath}`,
    ...["ip", "-4", "-oneline", "address", "show", "dev", "eth0", "up"],
  ]);
  if (shown.kind !== "exited" || !shown.stdout.includes(` ${address}/`))
    throw broken(podId, `eth0 does not have its address ${address}: ${shown.stderr.trim()}`);
}
