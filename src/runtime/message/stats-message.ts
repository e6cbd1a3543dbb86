import { ContainerStats, type CpuUsage, type FilesystemUsage, MemoryUsage } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import type { MeasuredUsage } from "../container/layer-usage.ts";
import type { ContainerUsage } from "../driver/driver.ts";
import type { ContainerRecord } from "../state/container-record.ts";

interface StatsFacts {
  readonly now: number;
  /** Of a container that runs. */
  readonly usage: ContainerUsage | undefined;
  readonly nanoCores: number | undefined;
  readonly layer: (MeasuredUsage & { readonly mountpoint: string }) | undefined;
}

export function containerStatsMessage(
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

export function value(count: number): { value: bigint } {
  return { value: BigInt(Math.max(0, Math.round(count))) };
}
