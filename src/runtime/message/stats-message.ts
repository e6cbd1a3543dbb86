import { ContainerStats, type CpuUsage, MemoryUsage } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import type { ContainerUsage } from "../driver/driver.ts";
import type { ContainerRecord } from "../state/container-record.ts";

/** A container that does not run has attributes only. */
export function containerStatsMessage(
  container: ContainerRecord,
  usage: ContainerUsage | undefined,
  { now, nanoCores }: { now: number; nanoCores: number | undefined },
): ContainerStats {
  const { id, config } = container;
  const { metadata, labels, annotations } = config;
  return ContainerStats.fromPartial({
    attributes: { id, metadata, labels, annotations },
    ...(usage && { cpu: cpuMessage(usage, { now, nanoCores }), memory: memoryMessage(usage, now) }),
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

export function value(count: number): { value: bigint } {
  return { value: BigInt(Math.max(0, Math.round(count))) };
}
