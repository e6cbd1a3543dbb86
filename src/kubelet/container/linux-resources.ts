import type { Container, Pod } from "../../api/objects.ts";
import { podResources } from "../../api/pod-resources.ts";
import { milliUnits, parseQuantity, type Quantity, wholeUnits } from "../../api/quantity.ts";
import { type HugepageLimit, LinuxContainerResources } from "../../cri/generated/cri.ts";
import type { MachineFacts, NodeFacts } from "./node-facts.ts";
import { oomScoreAdjust } from "./oom-score.ts";

export interface CpuSettings {
  /** Whether CPU limits are enforced. */
  readonly enforceQuota: boolean;
  readonly quotaPeriodUs: number;
}

export const defaultCpuSettings: CpuSettings = { enforceQuota: true, quotaPeriodUs: 100_000 };

interface Needs {
  readonly cpuRequest: Quantity;
  readonly cpuLimit: Quantity;
  readonly memoryLimit: Quantity;
}

interface ContainerNeeds {
  readonly pod: Pod;
  readonly container: Container;
  readonly node: NodeFacts;
  readonly cpu: CpuSettings;
}

/** A container's limits as cgroups take them. */
export function containerResources({ pod, container, node, cpu }: ContainerNeeds): LinuxContainerResources {
  const { requests = {}, limits = {} } = container.resources ?? {};
  // Where the pod as a whole has a limit and the container none, the pod's is the container's too.
  const shared = pod.spec?.resources?.limits ?? {};
  const cpuLimit = orElse(limits.cpu, shared.cpu);
  const resources = linuxResources(
    {
      cpuRequest: requests.cpu === undefined ? cpuLimit : parseQuantity(requests.cpu),
      cpuLimit,
      memoryLimit: orElse(limits.memory, shared.memory),
    },
    { machine: node.machine, cpu },
  );
  return {
    ...resources,
    ...withoutSwap(resources, node.machine),
    oomScoreAdj: BigInt(oomScoreAdjust(pod, container, node.memoryBytes)),
    hugepageLimits: hugepageLimits({ ...shared, ...limits }, node.machine.hugePageSizes),
  };
}

/** The same of a whole pod, and what the sandbox itself may take: for runtimes that make room for both. */
export function sandboxResources(
  { spec }: Pod,
  options: { machine: MachineFacts; cpu: CpuSettings },
): { resources: LinuxContainerResources; overhead: LinuxContainerResources } {
  const requests = podResources(spec, "requests");
  const limits = podResources(spec, "limits");
  const cpuLimit = limits.get("cpu") ?? nothing;
  const resources = linuxResources(
    {
      cpuRequest: requests.get("cpu") ?? cpuLimit,
      cpuLimit,
      memoryLimit: limits.get("memory") ?? nothing,
    },
    options,
  );
  if (!spec?.overhead) return { resources, overhead: LinuxContainerResources.fromPartial({}) };
  const cpu = parseQuantity(spec.overhead.cpu ?? "0");
  const memoryLimit = parseQuantity(spec.overhead.memory ?? "0");
  return { resources, overhead: linuxResources({ cpuRequest: cpu, cpuLimit: cpu, memoryLimit }, options) };
}

function linuxResources(
  { cpuRequest, cpuLimit, memoryLimit }: Needs,
  { machine, cpu }: { machine: MachineFacts; cpu: CpuSettings },
): LinuxContainerResources {
  return LinuxContainerResources.fromPartial({
    cpuShares: BigInt(cpuShares(milliUnits(cpuRequest))),
    memoryLimitInBytes: BigInt(wholeUnits(memoryLimit)),
    ...(cpu.enforceQuota && {
      cpuQuota: BigInt(cpuQuotaUs(milliUnits(cpuLimit), cpu.quotaPeriodUs)),
      cpuPeriod: BigInt(cpu.quotaPeriodUs),
    }),
    // Out of memory, a container dies as a whole: half of one helps nobody.
    ...(machine.cgroupVersion === 2 && { unified: { "memory.oom.group": "1" } }),
  });
}

/** The kernel's weight of a CPU is 1024; less than 2 it does not take. */
export function cpuShares(milliCpu: number): number {
  return Math.min(Math.max(Math.floor((milliCpu * 1_024) / 1_000), 2), 262_144);
}

/** 0 is no limit; less than a millisecond the kernel does not take. */
export function cpuQuotaUs(milliCpu: number, periodUs: number): number {
  return milliCpu === 0 ? 0 : Math.max(Math.floor((milliCpu * periodUs) / 1_000), 1_000);
}

/** Containers do not swap. */
function withoutSwap(
  { memoryLimitInBytes, unified }: LinuxContainerResources,
  { cgroupVersion, limitsSwap }: MachineFacts,
): Partial<LinuxContainerResources> {
  if (!limitsSwap) return {};
  // Version 1 limits the sum of memory and swap.
  if (cgroupVersion === 1) return { memorySwapLimitInBytes: memoryLimitInBytes };
  return { unified: { ...unified, "memory.swap.max": "0" } };
}

/** For each size that the machine has: none, unless the container has a limit. */
function hugepageLimits(
  limits: Readonly<Record<string, string>>,
  pageSizes: readonly string[],
): HugepageLimit[] {
  const given = new Map(
    Object.entries(limits)
      .filter(([name]) => name.startsWith("hugepages-"))
      .map(([name, amount]) => [
        hugePageSizeName(wholeUnits(parseQuantity(name.slice("hugepages-".length)))),
        BigInt(wholeUnits(parseQuantity(amount))),
      ]),
  );
  return pageSizes.map((pageSize) => ({ pageSize, limit: given.get(pageSize) ?? 0n }));
}

/** As cgroups name it: `2MB`. */
export function hugePageSizeName(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let size = bytes;
  let unit = 0;
  while (size > 0 && size % 1_024 === 0 && unit < units.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${size}${units[unit]}`;
}

const nothing = parseQuantity("0");

function orElse(amount: string | undefined, otherwise: string | undefined): Quantity {
  const given = parseQuantity(amount ?? "0");
  return given.nanos === 0n ? parseQuantity(otherwise ?? "0") : given;
}
