import type { Container, Pod } from "../../api/meta/objects.ts";
import { milliUnits, parseQuantity, type Quantity, wholeUnits } from "../../api/meta/quantity.ts";
import { containersOf } from "../../api/pod/pod-containers.ts";
import {
  containerTotals,
  hasPodResources,
  isSidecar,
  podResources,
  type QosClass,
  qosClassOf,
} from "../../api/pod/pod-resources.ts";
import { type HugepageLimit, LinuxContainerResources } from "../../cri/generated/cri.ts";
import { isStaticPod } from "../model/cri-labels.ts";
import type { ContainerNodeFacts, MachineFacts } from "../model/node-facts.ts";

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
  readonly node: ContainerNodeFacts;
  readonly cpu: CpuSettings;
}

/** Resources of a container in CRI's format. */
export function containerResources({ pod, container, node, cpu }: ContainerNeeds): LinuxContainerResources {
  const { requests = {}, limits = {} } = container.resources ?? {};
  // A pod-level limit applies to containers without their own limit.
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

/** Resources of the whole pod and its overhead, for runtimes that size the sandbox. */
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
    // On out-of-memory, the kernel kills all processes of a container together.
    ...(machine.cgroupVersion === 2 && { unified: { "memory.oom.group": "1" } }),
  });
}

/** CPU shares: 1024 per CPU, at least the kernel's minimum of 2. */
export function cpuShares(milliCpu: number): number {
  return Math.min(Math.max(Math.floor((milliCpu * 1_024) / 1_000), 2), 262_144);
}

/** CPU quota: 0 is no limit; the kernel's minimum is one millisecond. */
export function cpuQuotaUs(milliCpu: number, periodUs: number): number {
  return milliCpu === 0 ? 0 : Math.max(Math.floor((milliCpu * periodUs) / 1_000), 1_000);
}

/** Disables swap for a container. */
function withoutSwap(
  { memoryLimitInBytes, unified }: LinuxContainerResources,
  { cgroupVersion, limitsSwap }: MachineFacts,
): Partial<LinuxContainerResources> {
  if (!limitsSwap) return {};
  // Cgroup v1 limits the sum of memory and swap.
  if (cgroupVersion === 1) return { memorySwapLimitInBytes: memoryLimitInBytes };
  return { unified: { ...unified, "memory.swap.max": "0" } };
}

/** Limit for each page size of the machine: 0 unless the container sets one. */
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

/** Page size in the form that cgroups use: `2MB`. */
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

const guaranteed = -997;
const bestEffort = 1_000;
const leastBurstable = 1_000 + guaranteed;
const systemCritical = 2_000_000_000;

/**
 * OOM score adjustment: 1000 is killed first. For Burstable pods, a larger memory request gives a lower score, and a
 * container that uses more than its request exceeds 1000 together with the kernel's own score.
 */
export function oomScoreAdjust(pod: Pod, container: Container, memoryBytes: number): number {
  if (isNodeCritical(pod)) return guaranteed;
  switch (qosClass(pod)) {
    case "Guaranteed":
      return guaranteed;
    case "BestEffort":
      return bestEffort;
    case "Burstable": {
      const request = countedRequest(pod, container) + unassignedShare(pod);
      const score = 1_000 - Math.trunc((1_000 * request) / Math.max(memoryBytes, 1));
      return Math.min(Math.max(score, leastBurstable), bestEffort - 1);
    }
  }
}

/** Memory request that counts for the score. A sidecar counts at least the smallest request of the main containers. */
function countedRequest({ spec }: Pod, container: Container): number {
  const request = memoryRequest(container);
  const isPodsSidecar =
    isSidecar(container) && spec?.initContainers?.some(({ name }) => name === container.name);
  if (!isPodsSidecar) return request;
  return Math.max(request, Math.min(...(spec?.containers ?? []).map(memoryRequest)));
}

/** Share of the pod-level request that is not assigned to containers, divided equally. */
function unassignedShare({ spec }: Pod): number {
  const asked = spec?.resources?.requests?.memory;
  if (asked === undefined || !hasPodResources(spec, ["requests"])) return 0;
  const assigned = containerTotals(spec, "requests").get("memory");
  const rest = wholeUnits(parseQuantity(asked)) - (assigned ? wholeUnits(assigned) : 0);
  return Math.floor(Math.max(rest, 0) / Math.max(containersOf(spec).length, 1));
}

function memoryRequest({ resources }: Container): number {
  return wholeUnits(parseQuantity(resources?.requests?.memory ?? "0"));
}

function isNodeCritical(pod: Pod): boolean {
  if (pod.spec?.priorityClassName !== "system-node-critical") return false;
  return isStaticPod(pod) || (pod.spec.priority ?? 0) >= systemCritical;
}

/** QoS class in the pod's status; computed for a static pod, which has no status yet. */
export function qosClass({ status, spec }: Pod): QosClass {
  switch (status?.qosClass) {
    case "Guaranteed":
    case "Burstable":
    case "BestEffort":
      return status.qosClass;
  }
  return qosClassOf(spec ?? { containers: [] });
}
