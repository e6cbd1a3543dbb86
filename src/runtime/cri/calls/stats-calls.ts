import { readFile } from "node:fs/promises";
import { matchesLabels, toNanos } from "../../../cri/field-values.ts";
import {
  ContainerStats,
  type ContainerStatsFilter,
  type ContainerStatsRequest,
  type ContainerStatsResponse,
  type CpuUsage,
  type FilesystemUsage,
  type ListContainerStatsRequest,
  type ListContainerStatsResponse,
  type ListPodSandboxStatsRequest,
  type ListPodSandboxStatsResponse,
  MemoryUsage,
  type NetworkInterfaceUsage,
  type NetworkUsage,
  PodSandboxStats,
  type PodSandboxStatsFilter,
  type PodSandboxStatsRequest,
  type PodSandboxStatsResponse,
} from "../../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../../cri/serve-call.ts";
import type { CpuRates, LayerUsage, MeasuredUsage } from "../../containers/container-usage.ts";
import type { ContainerUsage } from "../../drivers/driver.ts";
import type { ContainerRecord } from "../../state/container-record.ts";
import type { RuntimeState } from "../../state/runtime-state.ts";
import type { SandboxRecord } from "../../state/sandbox-record.ts";

export type StatsDeps = Pick<RuntimeState, "containers" | "driver" | "images" | "clock"> & {
  readonly cpuRates: CpuRates;
  readonly layerUsage: LayerUsage;
};

export function containerStats(deps: StatsDeps): UnaryRpc<ContainerStatsRequest, ContainerStatsResponse> {
  return async ({ containerId }) => ({
    stats: await readContainerStats(deps, deps.containers.find(containerId)),
  });
}

/** Stats of running containers; the others use nothing. */
export function listContainerStats(
  deps: StatsDeps,
): UnaryRpc<ListContainerStatsRequest, ListContainerStatsResponse> {
  return async ({ filter }) => {
    const chosen = deps.containers
      .list()
      .filter(({ state }) => state.kind === "running")
      .filter((container) => !filter || matchesContainer(container, filter));
    return { stats: await Promise.all(chosen.map((container) => readContainerStats(deps, container))) };
  };
}

async function readContainerStats(
  { driver, images, clock, cpuRates, layerUsage }: StatsDeps,
  container: ContainerRecord,
): Promise<ContainerStats> {
  const isRunning = container.state.kind === "running";
  const [usage, layer] = await Promise.all([
    isRunning ? driver.stats(container.id) : undefined,
    layerUsage.read(container.id),
  ]);
  const now = clock.now();
  const nanoCores = usage && cpuRates.read(container.id, { cpuNanos: usage.cpuNanos, at: now });
  return containerStatsMessage(container, {
    usage,
    nanoCores,
    now,
    layer: layer && { ...layer, mountpoint: images.directory },
  });
}

function matchesContainer(container: ContainerRecord, filter: ContainerStatsFilter): boolean {
  return (
    container.id.startsWith(filter.id) &&
    container.sandboxId.startsWith(filter.podSandboxId) &&
    matchesLabels(container.config.labels, filter.labelSelector)
  );
}

type PodStatsDeps = StatsDeps & Pick<RuntimeState, "sandboxes">;

export function podSandboxStats(
  deps: PodStatsDeps,
): UnaryRpc<PodSandboxStatsRequest, PodSandboxStatsResponse> {
  return async ({ podSandboxId }) => ({
    stats: await readPodStats(deps, deps.sandboxes.find(podSandboxId)),
  });
}

export function listPodSandboxStats(
  deps: PodStatsDeps,
): UnaryRpc<ListPodSandboxStatsRequest, ListPodSandboxStatsResponse> {
  return async ({ filter }) => {
    const chosen = deps.sandboxes
      .list()
      .filter(({ state }) => state.kind === "ready")
      .filter((sandbox) => !filter || matchesSandbox(sandbox, filter));
    return { stats: await Promise.all(chosen.map((sandbox) => readPodStats(deps, sandbox))) };
  };
}

/** Stats of a pod: the sum of its containers, because the sandbox itself has no relevant process. */
async function readPodStats(deps: PodStatsDeps, sandbox: SandboxRecord): Promise<PodSandboxStats> {
  const { id, config } = sandbox;
  const { metadata, labels, annotations } = config;
  const running = deps.containers
    .list()
    .filter(({ sandboxId, state }) => sandboxId === id && state.kind === "running");
  const [containers, states] = await Promise.all([
    Promise.all(running.map((container) => readContainerStats(deps, container))),
    Promise.all(running.map((container) => deps.driver.state(container.id))),
  ]);
  const timestamp = toNanos(deps.clock.now());
  const pid = states.find((state) => state.kind === "running")?.pid;
  return PodSandboxStats.fromPartial({
    attributes: { id, metadata, labels, annotations },
    linux: {
      cpu: {
        timestamp,
        usageCoreNanoSeconds: sum(containers, ({ cpu }) => cpu?.usageCoreNanoSeconds),
        usageNanoCores: sum(containers, ({ cpu }) => cpu?.usageNanoCores),
      },
      memory: {
        timestamp,
        workingSetBytes: sum(containers, ({ memory }) => memory?.workingSetBytes),
        usageBytes: sum(containers, ({ memory }) => memory?.usageBytes),
        rssBytes: sum(containers, ({ memory }) => memory?.rssBytes),
        pageFaults: sum(containers, ({ memory }) => memory?.pageFaults),
        majorPageFaults: sum(containers, ({ memory }) => memory?.majorPageFaults),
      },
      network: pid === undefined ? undefined : await readNetworkUsage(pid, deps.clock.now()),
      containers,
    },
  });
}

/** Reads the network usage; undefined for a process that has just exited. */
async function readNetworkUsage(pid: number, now: number): Promise<NetworkUsage | undefined> {
  const text = await readFile(`/proc/${pid}/net/dev`, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseNetworkUsage(text, now);
}

function sum(
  containers: readonly ContainerStats[],
  pick: (stats: ContainerStats) => { value: bigint } | undefined,
): { value: bigint } {
  return { value: containers.reduce((total, stats) => total + (pick(stats)?.value ?? 0n), 0n) };
}

function matchesSandbox(sandbox: SandboxRecord, filter: PodSandboxStatsFilter): boolean {
  return sandbox.id.startsWith(filter.id) && matchesLabels(sandbox.config.labels, filter.labelSelector);
}

interface StatsFacts {
  readonly now: number;
  /** Usage of a running container. */
  readonly usage: ContainerUsage | undefined;
  readonly nanoCores: number | undefined;
  readonly layer: (MeasuredUsage & { readonly mountpoint: string }) | undefined;
}

function containerStatsMessage(
  container: ContainerRecord,
  { now, usage, nanoCores, layer }: StatsFacts,
): ContainerStats {
  const { id, config } = container;
  const { metadata, labels, annotations } = config;
  return ContainerStats.fromPartial({
    attributes: { id, metadata, labels, annotations },
    ...(usage && { cpu: cpuMessage(usage, { now, nanoCores }), memory: memoryMessage(usage, now) }),
    writableLayer: layer && layerMessage(layer),
  });
}

function cpuMessage(
  { cpuNanos }: Pick<ContainerUsage, "cpuNanos">,
  { now, nanoCores }: { now: number; nanoCores: number | undefined },
): CpuUsage {
  return {
    timestamp: toNanos(now),
    usageCoreNanoSeconds: value(cpuNanos),
    usageNanoCores: nanoCores === undefined ? undefined : value(nanoCores),
    psi: undefined,
  };
}

function memoryMessage(usage: Omit<ContainerUsage, "cpuNanos">, now: number): MemoryUsage {
  return MemoryUsage.fromPartial({
    timestamp: toNanos(now),
    workingSetBytes: value(usage.memoryWorkingSetBytes),
    usageBytes: value(usage.memoryUsageBytes),
    rssBytes: value(usage.memoryRssBytes),
    pageFaults: value(usage.pageFaults),
    majorPageFaults: value(usage.majorPageFaults),
  });
}

function layerMessage(layer: NonNullable<StatsFacts["layer"]>): FilesystemUsage {
  return {
    timestamp: toNanos(layer.at),
    fsId: { mountpoint: layer.mountpoint },
    usedBytes: value(layer.usedBytes),
    inodesUsed: value(layer.inodesUsed),
  };
}

function value(count: number): { value: bigint } {
  return { value: BigInt(Math.max(0, Math.round(count))) };
}

/** Parses the usage of a pod's network interfaces from its /proc/PID/net/dev. Pure. */
export function parseNetworkUsage(text: string, now: number): NetworkUsage {
  const interfaces = text
    .split("\n")
    .slice(2)
    .map(parseLine)
    .filter((usage) => usage !== undefined)
    .filter(({ name }) => name !== "lo");
  const defaultInterface = interfaces.find(({ name }) => name === "eth0") ?? interfaces[0];
  return {
    timestamp: toNanos(now),
    defaultInterface,
    interfaces: interfaces.filter((usage) => usage !== defaultInterface),
  };
}

function parseLine(line: string): NetworkInterfaceUsage | undefined {
  const [name, counters = ""] = line.split(":");
  const fields = counters.trim().split(/\s+/).map(Number);
  const [rxBytes = 0, , rxErrors = 0, , , , , , txBytes = 0, , txErrors = 0] = fields;
  if (!name || fields.length < 11) return undefined;
  return {
    name: name.trim(),
    rxBytes: value(rxBytes),
    rxErrors: value(rxErrors),
    txBytes: value(txBytes),
    txErrors: value(txErrors),
  };
}
